/** Reads `web.auth.oidc`: the identity provider where people log in. */
import * as z from 'zod';
import { checked, duration, twins, words } from '../../document/value-shape.ts';
import { isLoopback, mistakeInBaseUrl } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import type { Scope } from './scopes.ts';

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: Secret | null;
  /** What everybody may do who logs in. */
  readonly scopes: ReadonlySet<Scope>;
  /** What the provider is asked for, separated by blanks. */
  readonly asked: string;
  /** The claim that lists somebody's groups, and what these may do besides. */
  readonly groupsClaim: string;
  readonly groups: ReadonlyMap<string, ReadonlySet<Scope>>;
  readonly sessionMs: number;
}

const ALWAYS_ASKED = ['openid', 'profile', 'email'];

export function oidcShape(known: readonly Scope[]) {
  const rights = z.array(z.enum(known)).min(1, { error: `must name at least one of ${known.join(', ')}` });
  return z
    .strictObject({
      issuer: checked(mistakeInIssuer).describe(
        'Address of the provider, as its discovery document says it. Required.',
      ),
      client_id: words.describe('The id under which nestwatch is registered there. Required.'),
      ...twins('client_secret', 'The secret of that id; leave it out for a public client.'),
      scopes: z
        .array(words)
        .optional()
        .describe(
          `What everybody who logs in may do (${known.map((one) => `\`${one}\``).join(', ')}); without \`groups\` the default is \`[read, write]\`, otherwise nothing. Any other name is a scope that the provider is asked for besides \`openid\`, \`profile\` and \`email\`, such as \`groups\`.`,
        ),
      groups: z
        .record(words, rights)
        .prefault({})
        .describe('What the members of a group may do, by its name.'),
      groups_claim: words.prefault('groups').describe('The claim that lists the groups.'),
      session: duration(60_000, 30 * 86_400_000)
        .prefault('8h')
        .describe('How long somebody stays logged in.'),
    })
    .describe(
      'People log in at an identity provider (OpenID Connect). Register `<external_url>/login/callback` there as the address to return to.',
    );
}

export function oidcOf(
  oidc: z.output<ReturnType<typeof oidcShape>>,
  clientSecret: Secret | null,
  known: readonly Scope[],
): OidcConfig {
  const isRight = (name: string): name is Scope => known.some((one) => one === name);
  const given = oidc.scopes?.filter(isRight) ?? [];
  const preset: readonly Scope[] = Object.keys(oidc.groups).length === 0 ? ['read', 'write'] : [];
  const asked = oidc.scopes?.filter((name) => !isRight(name)) ?? [];
  return {
    issuer: oidc.issuer,
    clientId: oidc.client_id,
    clientSecret,
    scopes: new Set(given.length > 0 ? given : preset),
    asked: [...new Set([...ALWAYS_ASKED, ...asked])].join(' '),
    groupsClaim: oidc.groups_claim,
    groups: new Map(Object.entries(oidc.groups).map(([name, rights]) => [name, new Set(rights)])),
    sessionMs: oidc.session,
  };
}

function mistakeInIssuer(text: string): string | undefined {
  const mistake = mistakeInBaseUrl(text);
  if (mistake) return mistake;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || isLoopback(hostname) ? undefined : 'must begin with https://';
}
