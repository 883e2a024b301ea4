import { expect, test } from 'vitest';
import { readPostgresAddress } from '../../src/config/sections/store-section.ts';

const AT_5432 = { port: 5432 };

test.each<[string, object]>([
  [
    'postgres://u@db1,db2:5433,[::1]/x',
    {
      hosts: [
        { host: 'db1', ...AT_5432 },
        { host: 'db2', port: 5433 },
        { host: '::1', ...AT_5432 },
      ],
      user: 'u',
      database: 'x',
      sslmode: 'verify-full',
      shown: 'postgres://u@db1:5432,db2:5433,[::1]:5432/x',
    },
  ],
  [
    'postgresql://u@127.0.0.1,localhost/x?sslrootcert=/ca.pem',
    { sslmode: 'disable', sslrootcert: '/ca.pem', shown: 'postgres://u@127.0.0.1:5432,localhost:5432/x' },
  ],
  ['postgres://u@127.example.com/x', { sslmode: 'verify-full' }],
  ['postgres://u@[::1]/x', { sslmode: 'disable' }],
  ['postgres://u@a,b/x?sslmode=disable', { sslmode: 'disable' }],
  ['postgres://u@/x?host=/run/postgresql', { hosts: [{ host: '/run/postgresql', ...AT_5432 }] }],
  ['postgres://me@co,rp@a,b/x', { user: 'me@co,rp', shown: 'postgres://me@co,rp@a:5432,b:5432/x' }],
  ['postgres://me@corp@/x?host=/run/postgresql', { user: 'me@corp' }],
  [
    'postgres://u@localhost/x?sslcert=/u.pem&sslkey=/u.key',
    { sslmode: 'verify-full', sslcert: '/u.pem', sslkey: '/u.key' },
  ],
])('%s', (url, expected) => {
  expect(readPostgresAddress(url)).toMatchObject(expected);
});

test.each([
  ['postgres://u@db1,/x', 'must name a host, or the directory of a socket'],
  ['postgres://u@db1,db2:none/x', 'must look like postgres://user@host/database'],
  ['postgres://u:s3cret@db1,db2/x', 'must not hold the password'],
  ['postgres://u:pa@s,s@db1,db2/x', 'must not hold the password'],
  ['postgres://u:pa@ss@/x?host=/run/postgresql', 'must not hold the password'],
  ['postgres://db1,db2/x', 'must name a user and a database'],
  ['postgres://u@h/x?sslcert=/u.pem', 'must name both sslcert and sslkey, or neither'],
])('%s has a mistake', (url, expected) => {
  expect(readPostgresAddress(url)).toMatch(expected);
});
