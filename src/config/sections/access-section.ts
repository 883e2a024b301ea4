/** Reads `web.auth`: who may request what of the daemon. */
import { BlockList, isIP } from 'node:net';
import * as z from 'zod';
import { type Check, givenKey, readList } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { checked, duration, twins, words } from '../../document/value-shape.ts';
import { mistakeInPasswordHash } from '../../http/password-hash.ts';
import { addRange, isLoopback, mistakeInBaseUrl, parseRange } from '../../http/web-address.ts';
import { LIMITS } from '../../limits.ts';
import type { Secret } from '../../secret.ts';
import { nearest } from '../../text/mistake-words.ts';

/**
 * `metrics` allows `/metrics`, `read` all other reading, `write` everything that changes something in nestwatch, and
 * `fly` starting Birds, where `regions.<name>.fly` allows it.
 */
export const SCOPES = ['read', 'metrics', 'write', 'fly'] as const;
export type Scope = (typeof SCOPES)[number];

// Reads `web.auth.oidc`: the identity provider where people log in.

export type OidcConfig = ReturnType<typeof oidcOf>;

const ALWAYS_ASKED = ['openid', 'profile', 'email'];

const NO_SCOPE = { error: `must name at least one of ${SCOPES.join(', ')}` };

const rights = z.array(z.enum(SCOPES)).min(1, NO_SCOPE);

const oidcShape = z
  .strictObject({
    issuer: checked(mistakeInIssuer).describe(
      'Address of the provider, as its discovery document says it. Required.',
    ),
    client_id: words.describe('The id under which nestwatch is registered there. Required.'),
    ...twins('client_secret', 'The secret of that id; leave it out for a public client.'),
    scopes: z
      .array(checked(mistakeInScope))
      .min(1, NO_SCOPE)
      .optional()
      .describe(
        `What everybody who logs in may do (${SCOPES.map((one) => `\`${one}\``).join(', ')}); the default is \`[read, write]\`, or nothing with \`groups\`. Any other name is a scope that the provider is asked for besides \`openid\`, \`profile\` and \`email\`, such as \`groups\`.`,
      ),
    groups: z.record(words, rights).prefault({}).describe('What the members of a group may do, by its name.'),
    groups_claim: words.prefault('groups').describe('The claim that lists the groups.'),
    session: duration(60_000, 30 * 86_400_000)
      .prefault('8h')
      .describe('How long somebody stays logged in.'),
  })
  // A right with a slip in it is reported by itself.
  .refine(({ scopes, groups }) => !scopes || scopes.some(rightMeant) || Object.keys(groups).length > 0, {
    error: `gives nobody a right: name one of ${SCOPES.join(', ')}, or give \`groups\``,
    path: ['scopes'],
  })
  .describe(
    'People log in at an identity provider (OpenID Connect). Register `<external_url>/login/callback` there as the address to return to.',
  );

/** `clientSecret` is null for a public client. */
function oidcOf(oidc: z.output<typeof oidcShape>, clientSecret: Secret | null) {
  const preset = Object.keys(oidc.groups).length === 0 ? ['read', 'write'] : [];
  const given = (oidc.scopes ?? preset).filter(isRight);
  const asked = oidc.scopes?.filter((name) => !isRight(name)) ?? [];
  const groups = Object.entries(oidc.groups).map(([name, rights]) => [name, new Set<Scope>(rights)] as const);
  return {
    issuer: oidc.issuer,
    clientId: oidc.client_id,
    clientSecret,
    /** What everybody may do who logs in. */
    scopes: new Set(given),
    /** What the provider is asked for, separated by blanks. */
    asked: [...new Set([...ALWAYS_ASKED, ...asked])].join(' '),
    /** The claim that lists somebody's groups, and what these may do besides. */
    groupsClaim: oidc.groups_claim,
    groups: new Map(groups),
    sessionMs: oidc.session,
  };
}

function isRight(name: string): name is Scope {
  return SCOPES.some((one) => one === name);
}

function rightMeant(name: string): string | undefined {
  return nearest(name, SCOPES);
}

/** A right with a slip in it is not asked of the provider. */
function mistakeInScope(name: string): string | undefined {
  const meant = rightMeant(name);
  return meant === undefined || isRight(name) ? undefined : `is no right; did you mean ${meant}?`;
}

function mistakeInIssuer(text: string): string | undefined {
  const mistake = mistakeInBaseUrl(text);
  if (mistake) return mistake;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || isLoopback(hostname) ? undefined : 'must begin with https://';
}

// Reads the other keys of `web.auth`: what the holder of a token, or a person, may do.

/** The scopes of `bearer_token`, of signed links, and of users for whom none are given. */
export const USUAL_SCOPES: readonly Scope[] = ['read', 'metrics', 'write'];

export interface AccessConfig {
  readonly tokens: readonly {
    readonly name: string;
    readonly token: Secret;
    readonly scopes: ReadonlySet<Scope>;
  }[];
  readonly users: ReadonlyMap<string, { readonly hash: Secret; readonly scopes: ReadonlySet<Scope> }>;
  /** A proxy in front of the daemon that authenticates people and passes their names in a header. */
  readonly proxy?: {
    /** In lower case. */
    readonly header: string;
    readonly isTrusted: (address: string) => boolean;
    readonly scopes: ReadonlySet<Scope>;
  };
  readonly oidc?: OidcConfig;
}

const scopes = (preset: readonly Scope[] | undefined) =>
  (preset ? rights.prefault([...preset]) : rights).describe(
    '`metrics` allows `/metrics`, `read` all other reading, `write` everything that changes something in nestwatch, and `fly` starting Birds again where `fly` of the region allows it.',
  );

const tokenShape = z.strictObject({
  name: words
    .max(LIMITS.name_characters.most)
    .optional()
    .describe('Who holds the token; shown in the log of changes.'),
  ...twins('token', 'The token itself. Required.'),
  scopes: scopes(undefined),
});

const userShape = z.strictObject({
  ...twins('password_hash', 'What `nestwatch hash-password` prints for the password. Required.'),
  scopes: scopes(USUAL_SCOPES),
});

/** Headers of requests that say something else than who a person is. */
const OF_EVERY_CLIENT =
  /^(?:accept|authorization|cache-control|connection|content|cookie|date|expect|forwarded|from|host|if|keep-alive|origin|pragma|proxy|range|referer|sec|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-(?:for|host|port|proto)|x-real-ip|x-request-id)(?:-|$)/i;

const proxyShape = z.strictObject({
  header: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, { error: 'must be the name of a header, such as X-Forwarded-User' })
    .refine((name) => !OF_EVERY_CLIENT.test(name), {
      error: 'is a header that clients send themselves: name the one in which the proxy passes the person',
    })
    .prefault('X-Forwarded-User')
    .describe(
      "Header with the person's name. The proxy must set it itself and must not pass on one that a client sends.",
    ),
  trusted: z
    .array(checked(mistakeInRange))
    .min(1, { error: 'must name at least one address' })
    .describe(
      "The proxy's addresses or ranges (`10.1.0.0/16`). The header is ignored if it comes from any other address.",
    ),
  scopes: scopes(['read', 'write']),
});

export const accessShape = z.strictObject({
  ...twins(
    'bearer_token',
    'Token with all scopes except `fly`, sent as `Authorization: Bearer` or as the password of any user. As soon as this or another key of `auth` is set, requests without valid credentials are refused, except health checks.',
  ),
  tokens: z.array(tokenShape).prefault([]).describe('Further tokens, each limited to its scopes.'),
  users: z
    .record(words, userShape)
    .prefault({})
    .describe('Users by name, who log in with HTTP Basic. Their name is recorded with what they do.'),
  proxy: proxyShape
    .optional()
    .describe("An authenticating proxy (OIDC, forward auth) that passes the person's name in a header."),
  oidc: oidcShape.optional(),
});

const AT: Path = ['web', 'auth'];

/** Undefined if nobody but the holder of `bearerToken` is let in, or everybody because there is none. */
export function readAccess(check: Check, bearerToken: Secret | null): AccessConfig | undefined {
  const secrets = readList(check, [...AT, 'tokens']).map((path) =>
    check.secret(path, 'token', { isRequired: true, mistake: mistakeInToken }),
  );
  refuseRepeated(check, bearerToken, secrets);
  const clientSecret = check.secret([...AT, 'oidc'], 'client_secret', {});
  const access = check.read(accessShape.prefault({}), AT);
  const users = readUsers(check, access?.users ?? {});
  if (!access) return undefined;
  const tokens = secrets.flatMap((token, index) => {
    const { name, scopes: given } = access.tokens[index]!;
    return token ? [{ name: name ?? `token ${index + 1}`, token, scopes: new Set(given) }] : [];
  });
  const proxy = access.proxy && proxyOf(access.proxy);
  const oidc = access.oidc && oidcOf(access.oidc, clientSecret);
  if (secrets.length === 0 && users.size === 0 && !proxy && !oidc) return undefined;
  return { tokens, users, ...(proxy && { proxy }), ...(oidc && { oidc }) };
}

/** One token with two sets of scopes would have only one of them. */
function refuseRepeated(check: Check, bearerToken: Secret | null, tokens: readonly (Secret | null)[]): void {
  const known = new Map(bearerToken ? [[bearerToken.reveal(), 'bearer_token']] : []);
  for (const [index, token] of tokens.entries()) {
    if (!token) continue;
    const same = known.get(token.reveal());
    if (same !== undefined) {
      const message = `is the same as \`${same}\`: give each a token of its own, or one all scopes it needs`;
      check.problem(givenKey(check, [...AT, 'tokens', index], 'token'), message);
    }
    known.set(token.reveal(), `tokens[${index}]`);
  }
}

function readUsers(
  check: Check,
  users: Readonly<Record<string, { readonly scopes: readonly Scope[] }>>,
): AccessConfig['users'] {
  const found = new Map<string, { hash: Secret; scopes: ReadonlySet<Scope> }>();
  for (const [name, { scopes: given }] of Object.entries(users)) {
    const path = [...AT, 'users', name];
    if (name.includes(':')) check.keyProblem(path, 'a name must not hold a colon: HTTP Basic ends it there');
    const hash = check.secret(path, 'password_hash', { isRequired: true, mistake: mistakeInPasswordHash });
    if (hash) found.set(name, { hash, scopes: new Set(given) });
  }
  return found;
}

function proxyOf({ header, trusted, scopes: given }: z.output<typeof proxyShape>): AccessConfig['proxy'] {
  const list = new BlockList();
  for (const text of trusted) addRange(list, parseRange(text)!);
  return {
    header: header.toLowerCase(),
    isTrusted(address) {
      const family = isIP(address);
      return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
    },
    scopes: new Set(given),
  };
}

function mistakeInRange(text: string): string | undefined {
  const range = parseRange(text);
  if (!range) return 'must be an address or a range such as 10.1.0.0/16';
  const { network, bits } = range;
  if (bits === 0) return 'trusts everybody to be anybody: name the addresses of the proxy';
  return /^::ffff:/i.test(network)
    ? 'must be written as an IPv4 address or range, such as 10.1.0.0/16'
    : undefined;
}

export function mistakeInToken(text: string): string | undefined {
  return text.length < 8 ? 'must have at least 8 characters' : undefined;
}
