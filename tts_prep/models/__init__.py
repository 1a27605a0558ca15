"""Models over a store: functions of batches of utterances, such as codecs and speaker encoders, in processes."""
