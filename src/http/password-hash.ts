/**
 * Hashes passwords with scrypt (RFC 7914), written `$scrypt$ln=14,r=8,p=1$salt$hash` with salt and hash in base64
 * without padding, as passlib and others write it.
 */
import { scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

interface PasswordHash {
  readonly parameters: ScryptParameters;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

interface ScryptParameters {
  /** Base-2 logarithm of the cost. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** Takes 16 MiB and about 50 ms per password. */
const USUAL: ScryptParameters = { ln: 14, r: 8, p: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** A hash that asks for more could exhaust the process's memory. */
const MAX_MEMORY = 128 * 1024 * 1024;

const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** What is wrong with a password hash, without quoting it; undefined when it is valid. */
export function mistakeInPasswordHash(text: string): string | undefined {
  if (/^\$2[abxy]?\$/.test(text)) {
    return 'must be a hash by scrypt, not by bcrypt: make one with `nestwatch hash-password`';
  }
  const hash = parsed(text);
  if (!hash) return 'must be what `nestwatch hash-password` prints: $scrypt$ln=14,r=8,p=1$…$…';
  const { ln, r, p } = hash.parameters;
  const isWeak = ln < 10 || r < 1 || p < 1 || hash.salt.length < 8 || hash.hash.length < 16;
  if (isWeak || memoryOf(hash.parameters) * p > MAX_MEMORY) {
    return 'asks for too little or too much work: make one with `nestwatch hash-password`';
  }
  return undefined;
}

export async function hashPassword(password: string, randomBytes: (size: number) => Buffer): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, USUAL, HASH_BYTES);
  const { ln, r, p } = USUAL;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;
}

/** Runs in a worker thread. A text that is not a valid hash matches no password. */
export async function isPasswordOf(text: string, password: string): Promise<boolean> {
  const wanted = parsed(text);
  if (!wanted) return false;
  const { salt, hash, parameters } = wanted;
  return timingSafeEqual(await derive(password, salt, parameters, hash.length), hash);
}

const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt);

function derive(password: string, salt: Buffer, parameters: ScryptParameters, size: number): Promise<Buffer> {
  const { ln, r, p } = parameters;
  const maxmem = memoryOf(parameters) * 2;
  return scryptAsync(password.normalize('NFC'), salt, size, { N: 2 ** ln, r, p, maxmem });
}

function memoryOf({ ln, r }: ScryptParameters): number {
  return 128 * 2 ** ln * r;
}

function parsed(text: string): PasswordHash | undefined {
  const [, ln, r, p, salt, hash] = FORM.exec(text) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  return {
    parameters: { ln: Number(ln), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
