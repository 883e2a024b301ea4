/**
 * Certificates for tests, made without a program that a machine may lack: X.509 version 3 (RFC 5280), written in DER
 * and signed by ECDSA with SHA-256.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Valid from yesterday, for three days. */
const DAY_MS = 86_400_000;

/** Creates an authority: `name`.pem and `name`.key in the folder. */
export function makeAuthority(folder: string, name: string): void {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const extensions = [basicConstraints(true)];
  write(folder, name, privateKey, certificate({ name, issuer: name, publicKey, extensions }, privateKey));
}

/** Creates a certificate by `authority`, for localhost or another host: `name`.pem and `name`.key. */
export function makeCertificate(folder: string, authority: string, name: string, host = 'localhost'): void {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signer = createPrivateKey(readFileSync(join(folder, `${authority}.key`)));
  const extensions = [basicConstraints(false), alternativeName(host)];
  write(folder, name, privateKey, certificate({ name, issuer: authority, publicKey, extensions }, signer));
}

function write(folder: string, name: string, key: KeyObject, der: Buffer): void {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  const pem = `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  writeFileSync(join(folder, `${name}.pem`), pem);
  writeFileSync(join(folder, `${name}.key`), key.export({ type: 'pkcs8', format: 'pem' }));
}

interface Content {
  readonly name: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

function certificate({ name, issuer, publicKey, extensions }: Content, signer: KeyObject): Buffer {
  const now = Date.now();
  const content = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    commonName(issuer),
    sequence(utcTime(now - DAY_MS), utcTime(now + 2 * DAY_MS)),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  return sequence(content, ECDSA_WITH_SHA256, bits(sign('sha256', content, signer)));
}

/** Tags of ASN.1, and encoded object identifiers. */
const OID = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  basicConstraints: '551d13',
  subjectAltName: '551d11',
} as const;
const ECDSA_WITH_SHA256 = sequence(oid('ecdsaWithSha256'));

function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x30, ...parts);
}

function integer(value: Uint8Array): Buffer {
  return tagged(0x02, value);
}

function bits(value: Uint8Array): Buffer {
  return tagged(0x03, Buffer.from([0]), value);
}

function oid(name: keyof typeof OID): Buffer {
  return tagged(0x06, Buffer.from(OID[name], 'hex'));
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
}

function commonName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('commonName'), tagged(0x0c, Buffer.from(name)))));
}

function basicConstraints(isAuthority: boolean): Buffer {
  const value = isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  return extension('basicConstraints', true, value);
}

function alternativeName(host: string): Buffer {
  return extension('subjectAltName', false, sequence(tagged(0x82, Buffer.from(host))));
}

function extension(name: keyof typeof OID, isCritical: boolean, value: Uint8Array): Buffer {
  const critical = isCritical ? [tagged(0x01, Buffer.from([0xff]))] : [];
  return sequence(oid(name), ...critical, tagged(0x04, value));
}
