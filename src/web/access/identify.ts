/**
 * Determines who sends a request and what they may do: by the header of a trusted proxy, a token (as `Authorization:
 * Bearer`, or as the password of any user, so that a browser can ask for it), or the password of a user. Secrets are
 * revealed at each request, so a rotated file takes effect within seconds.
 */
import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { SCOPES, type Scope, USUAL_SCOPES } from '../../config/sections/access-section.ts';
import type { WebConfig } from '../../config/sections/web-section.ts';
import { isPasswordOf } from '../../http/password-hash.ts';
import { LIMITS } from '../../limits.ts';
import { plainText } from '../../text/plain-text.ts';
import { MAX_AUTHOR_LENGTH } from '../requests/silence-request.ts';

export interface Identity {
  /** The name of a person or token; empty if no credentials are required. */
  readonly name: string;
  readonly by: 'proxy' | 'user' | 'token' | 'link' | 'oidc' | 'slack' | 'nobody_asked';
  readonly scopes: ReadonlySet<Scope>;
}

/** What a request says about its sender. */
interface Credentials {
  readonly authorization: string | undefined;
  readonly header: (name: string) => string | undefined;
  /** The address of the other end of the connection. */
  readonly address: string;
}

/** `unknown`: no credentials, or wrong ones. `busy`: too many passwords are being compared already. */
type Identified = Identity | 'unknown' | 'busy';

const USUAL: ReadonlySet<Scope> = new Set(USUAL_SCOPES);

/** The identity if no credentials are required. */
export const ANYBODY: Identity = { name: '', by: 'nobody_asked', scopes: new Set(SCOPES) };

/** The identity of somebody with a signed link, only for what the link is signed for. */
export const BEARER_OF_LINK: Identity = { name: '', by: 'link', scopes: USUAL };

/** A hash that no password matches, so that an unknown name takes as long as a known one. */
const NOBODYS_HASH = `$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export function createIdentifier({
  bearerToken,
  access,
}: WebConfig): (credentials: Credentials) => Promise<Identified> {
  if (!bearerToken && !access) return async () => ANYBODY;
  const tokens = [
    ...(bearerToken ? [{ name: 'bearer_token', token: bearerToken, scopes: USUAL }] : []),
    ...(access?.tokens ?? []),
  ];
  const users = access?.users ?? new Map();
  const passwords = createPasswordCheck();

  function byToken(given: Buffer): Identity | undefined {
    const digest = digestOf(given);
    // All digests have the same length and all are compared, so the time is the same for every guess.
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
    const name = proxy?.isTrusted(address)
      ? plainText(textOf(header(proxy.header) ?? ''), MAX_AUTHOR_LENGTH)
      : '';
    if (proxy && name !== '') return { name, by: 'proxy', scopes: proxy.scopes };
    const [, scheme = '', rest = ''] = /^(\S+) +(.+)$/.exec(authorization ?? '') ?? [];
    if (/^bearer$/i.test(scheme)) return byToken(Buffer.from(rest, 'latin1')) ?? 'unknown';
    const pair = /^basic$/i.test(scheme) ? pairOf(rest) : undefined;
    return pair ? byPassword(pair) : 'unknown';
  };
}

/** A header arrives as one character per byte, whatever its encoding: proxies send UTF-8, few of them Latin-1. */
function textOf(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
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

/** Whoever may write may also stop rules that start Birds, but not let them go on. */
const STARTS_BIRDS = /^(?:\/fly|\/api\/v1\/(?:birds\/[^/]+\/[^/]+\/fly|actions\/resume))$/;

/** What was chosen on a page is sent to pages that ask before they do anything. */
const IS_ASKED = /^\/(?:acknowledge|silence)-preview$/;

/** The scope that a request needs. It covers every route, even one that is added later. */
export function scopeFor(method: string, path: string): Scope {
  if (method !== 'GET' && method !== 'HEAD' && !IS_ASKED.test(path))
    return STARTS_BIRDS.test(path) ? 'fly' : 'write';
  return path === '/metrics' ? 'metrics' : 'read';
}

/** Whether it is the name of a person who logged in. */
export function isLogin({ by }: Identity): boolean {
  return by === 'proxy' || by === 'user' || by === 'oidc';
}

/** A person's authenticated name replaces the typed one. The holder of a token may act for somebody else. */
export function signedBy(identity: Identity, typed: string): string {
  return isLogin(identity) ? identity.name : typed;
}

// Compares passwords with their hashes. Each comparison takes memory and a thread, so they run one after another and
// only a few may wait. A correct password is remembered, so that a browser does not wait at every page.

interface PasswordCheck {
  /** `busy` if too many are already waiting. */
  check(user: string, password: string, hash: string): Promise<'fits' | 'wrong' | 'busy'>;
}

/** The most passwords remembered, as digests. */
const MAX_REMEMBERED = 100;

export function createPasswordCheck(): PasswordCheck {
  const remembered = new Set<string>();
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  return {
    async check(user, password, hash) {
      const digest = createHash('sha256')
        .update(JSON.stringify([user, password, hash]))
        .digest('base64');
      if (remembered.has(digest)) return 'fits';
      if (waiting >= LIMITS.waiting_passwords.most) return 'busy';
      waiting += 1;
      const answer = last.then(() => isPasswordOf(hash, password));
      last = answer.catch(() => {});
      try {
        if (!(await answer)) return 'wrong';
      } finally {
        waiting -= 1;
      }
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.add(digest);
      return 'fits';
    },
  };
}
