import { expect, test } from 'vitest';
import { inNetworkWords, networkErrorWords } from '../../src/http/network-error.ts';

test.each([
  ['UND_ERR_SOCKET', 'it closed the connection'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['HPE_INVALID_CONSTANT', 'its answer is no HTTP'],
  ['HTTPParserError', 'its answer is no HTTP'],
  ['ENEW', 'the connection failed (ENEW)'],
])('%s in words', (code, words) => {
  expect(networkErrorWords(code)).toBe(words);
});

test.each([
  [
    '40533D749F7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/ssl/record/methods/tlsany_meth.c:78:\n',
    'the server does not speak TLS at this port',
  ],
  [
    '40533D749F7F0000:error:0A000410:SSL routines:ssl3_read_bytes:ssl/tls alert handshake failure:../deps/rec_layer_s3.c:907:SSL alert number 40',
    'TLS failed: ssl/tls alert handshake failure',
  ],
  ['connect ECONNREFUSED 127.0.0.1:25', 'no answer from 127.0.0.1:25: it refused the connection'],
  ['getaddrinfo ENOTFOUND smtp.example.com', 'no answer from smtp.example.com: its name is not known'],
  ['read ECONNRESET', 'it closed the connection'],
  ['Greeting never received', 'it does not answer as a mail server'],
  ['Invalid login: 535 no', 'Invalid login: 535 no'],
])('%s', (text, words) => {
  expect(inNetworkWords(text)).toBe(words);
});
