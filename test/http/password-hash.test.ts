import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hashPassword, isPasswordOf, mistakeInPasswordHash } from '../../src/http/password-hash.ts';

describe('a hash of a password', () => {
  test('matches its password and no other [long]', async () => {
    const hash = await hashPassword('correct horse', randomBytes);
    expect(hash).toMatch(/^\$scrypt\$ln=14,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(mistakeInPasswordHash(hash)).toBeUndefined();
    expect(await isPasswordOf(hash, 'correct horse')).toBe(true);
    expect(await isPasswordOf(hash, 'correct horse ')).toBe(false);
    expect(await isPasswordOf(hash, '')).toBe(false);
    expect(await hashPassword('correct horse', randomBytes)).not.toBe(hash);
  });

  // RFC 7914, section 12: P="password", S="NaCl", N=1024, r=8, p=16.
  test('equals that of the RFC [long]', async () => {
    const derived =
      'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640';
    const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
    const hash = `$scrypt$ln=10,r=8,p=16$${base64(Buffer.from('NaCl'))}$${base64(Buffer.from(derived, 'hex'))}`;
    expect(await isPasswordOf(hash, 'password')).toBe(true);
    expect(await isPasswordOf(hash, 'Password')).toBe(false);
  });

  test('composed and decomposed letters are the same [long]', async () => {
    const hash = await hashPassword('fünf'.normalize('NFC'), randomBytes);
    expect(await isPasswordOf(hash, 'fünf'.normalize('NFD'))).toBe(true);
  });

  test.each([
    ['a password', 'hunter2', 'must be what `nestwatch hash-password` prints'],
    ['bcrypt', '$2y$10$QX1Yc3JH', 'not by bcrypt'],
    ['half of one', '$scrypt$ln=14,r=8,p=1$AAAA', 'must be what `nestwatch hash-password` prints'],
    ['hardly any work', `$scrypt$ln=2,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`, 'too little or too much'],
    [
      'all of the memory',
      `$scrypt$ln=25,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`,
      'too little or too much',
    ],
    ['no salt', `$scrypt$ln=14,r=8,p=1$AA$${'A'.repeat(43)}`, 'too little or too much'],
  ])('%s is not a hash', async (_name, text, mistake) => {
    expect(mistakeInPasswordHash(text)).toContain(mistake);
    if (!text.startsWith('$scrypt$ln=14,r=8,p=1$AA$') && !text.includes('ln=2')) {
      expect(await isPasswordOf(text, 'hunter2').catch(() => false)).toBe(false);
    }
  });
});
