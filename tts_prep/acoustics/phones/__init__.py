"""An acoustic model of phones that is trained on the recordings it is used for, and alignment by it."""
