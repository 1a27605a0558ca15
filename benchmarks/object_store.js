// An S3 server over a folder, for remote.py: s3rver (npm), on a free port of this machine, with the bucket "bench".
//
//     NODE_PATH=FOLDER/node_modules node benchmarks/object_store.js FOLDER KEY.pem CERTIFICATE.pem
//
// Speaks TLS. Prints its port. For every line on stdin, prints the number of bytes that it has sent since it began,
// with headers, certificates and so on. Ends with stdin.
'use strict';

const fs = require('fs');
const readline = require('readline');
const S3rver = require('s3rver');

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  directory: process.argv[2],
  key: fs.readFileSync(process.argv[3]),
  cert: fs.readFileSync(process.argv[4]),
  silent: true,
  vhostBuckets: false,
  configureBuckets: [{ name: 'bench' }],
});

const open = new Set();
let sent = 0;

server.run().then(({ port }) => {
  server.httpServer.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => {
      open.delete(socket);
      sent += socket.bytesWritten;
    });
  });
  console.log(port);
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', () => console.log([...open].reduce((sum, socket) => sum + socket.bytesWritten, sent)));
  lines.on('close', () => process.exit());
});
