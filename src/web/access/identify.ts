/**
 * Who asks, and what they may. By the header of a trusted proxy, a token (as `Authorization: Bearer`, or as the password of
 * any user, so that a browser can ask for it), or the password of a user. Secrets are read at each request, so that
 * a rotated file counts at once.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { SCOPES, type Scope } from '../../config/sections/access-section.ts';
import type { WebConfig } from '../../config/sections/web-section.ts';
import { plainText } from '../../text/plain-text.ts';
import { MAX_AUTHOR_LENGTH } from '../asked/silence-request.ts';
import { createPasswordCheck } from './password-check.ts';

export interface Identity {
  /** Of a person, or of a token; empty where nobody was asked. */
  readonly name: string;
  readonly by: 'proxy' | 'user' | 'token' | 'link' | 'nobody_asked';
  readonly scopes: ReadonlySet<Scope>;
}

/** What of a request says who asks. */
interface Credentials {
  readonly authorization: string | undefined;
  readonly header: (name: string) => string | undefined;
  /** Of the other end of the connection. */
  readonly address: string;
}

/** `unknown`: no credentials, or wrong ones. `busy`: too many passwords are being compared already. */
type Identified = Identity | 'unknown' | 'busy';

const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES);

/** Of whom nobody was asked. */
export const ANYBODY: Identity = { name: '', by: 'nobody_asked', scopes: EVERYTHING };

/** Who has a signed link, for what it is signed for. */
export const BEARER_OF_LINK: Identity = { name: '', by: 'link', scopes: EVERYTHING };

/** A hash that no password fits, so that an unknown name takes as long as a known one. */
const NOBODYS_HASH = `$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export function createIdentifier({
  bearerToken,
  access,
}: WebConfig): (credentials: Credentials) => Promise<Identified> {
  if (!bearerToken && !access) return async () => ANYBODY;
  const tokens = [
    ...(bearerToken ? [{ name: 'bearer_token', token: bearerToken, scopes: EVERYTHING }] : []),
    ...(access?.tokens ?? []),
  ];
  const users = access?.users ?? new Map();
  const passwords = createPasswordCheck();

  function byToken(given: Buffer): Identity | undefined {
    const digest = digestOf(given);
    // Digests have one length and all are compared, so the comparison takes the same time for every guess.
    const fitting = tokens.filter(({ token }) => timingSafeEqual(digest, digestOf(token.reveal())));
    const [found] = fitting;
    return found && { name: found.name, by: 'token', scopes: found.scopes };
  }

  async function byPassword(pair: Pair): Promise<Identified> {
    const token = byToken(pair.password);
    if (token) return token;
    if (users.size === 0) return 'unknown';
    const name = pair.user.toString('utf8');
    const user = users.get(name);
    const hash = user?.hash.reveal() ?? NOBODYS_HASH;
    const answer = await passwords.check(name, pair.password.toString('utf8'), hash);
    if (answer !== 'fits' || !user) return answer === 'busy' ? 'busy' : 'unknown';
    return { name, by: 'user', scopes: user.scopes };
  }

  return async ({ authorization, header, address }) => {
    const { proxy } = access ?? {};
    const name = proxy?.isTrusted(address) ? plainText(header(proxy.header) ?? '', MAX_AUTHOR_LENGTH) : '';
    if (proxy && name !== '') return { name, by: 'proxy', scopes: proxy.scopes };
    const [, scheme = '', rest = ''] = /^(\S+) +(.+)$/.exec(authorization ?? '') ?? [];
    // A header arrives as one character a byte, whatever its text was.
    if (/^bearer$/i.test(scheme)) return byToken(Buffer.from(rest, 'latin1')) ?? 'unknown';
    const pair = /^basic$/i.test(scheme) ? pairOf(rest) : undefined;
    return pair ? byPassword(pair) : 'unknown';
  };
}

interface Pair {
  readonly user: Buffer;
  readonly password: Buffer;
}

function pairOf(base64: string): Pair | undefined {
  const bytes = Buffer.from(base64, 'base64');
  const colon = bytes.indexOf(':');
  return colon === -1 ? undefined : { user: bytes.subarray(0, colon), password: bytes.subarray(colon + 1) };
}

const digestOf = (text: string | Buffer) => createHash('sha256').update(text).digest();

/** The scope that a request needs; a route that nobody thought of here needs one all the same. */
export function scopeFor(method: string, path: string): Scope {
  if (method !== 'GET' && method !== 'HEAD') return 'write';
  return path === '/metrics' ? 'metrics' : 'read';
}

/** A person's own name in place of the one that was typed: a token's holder may speak for somebody. */
export function signedBy({ by, name }: Identity, typed: string): string {
  return by === 'proxy' || by === 'user' ? name : typed;
}
