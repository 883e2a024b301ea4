/** First configurations: one to fill in, and one for the answers of a person. */

/** A minimal configuration with hints; `config/nestwatch.yaml` shows most settings. */
export const TO_FILL_IN = `# nestwatch's configuration. Check it with: nestwatch check-config nestwatch.yaml
# \${NAME} stands for a variable of the environment; token_file: /path reads a secret from a file instead.

# The instances of the service that are watched: as many as there are, each isolated from the others.
regions:
  eu:
    base_url: https://eu-1.blackbird.io/api-rest
    token: \${NESTWATCH_EU_TOKEN}       # an API token of an organisation admin
  us:
    base_url: https://us-2.blackbird.io/api-rest
    token: \${NESTWATCH_US_TOKEN}

# Who is notified. Until this is filled in, alerts are seen only on the page and in /metrics.
# The names and their meaning are Alertmanager's: paste your own.
#
# global:
#   smtp_smarthost: mail.example.com:587
#   smtp_from: nestwatch@example.com
#
# route:
#   receiver: ops
#   group_by: [alertname, region, error]   # one message of one cause, also in eight Birds
#   group_interval: 1m                     # how soon more of it is told
#   routes:
#     - matchers: ['severity="critical"']
#       receiver: pager
#       continue: true
#
# receivers:
#   - name: ops
#     fold_ends: 5m                        # what only ended or goes on is told together
#     email_configs:
#       - to: ops@example.com
#         send_resolved: true
#   - name: pager
#     webhook_configs:
#       - url: https://example.com/hook

# What is worth an alert: each kind has a rule by default. For example:
#
# rules:
#   - kind: FlightFailed
#     match: ['nest=~"Prod.*"']
#     severity: critical

web:
  listen: 127.0.0.1:9465                # the page, /metrics and the API
  # external_url: https://nestwatch.example.com   # how people reach the page; without it messages link nowhere
`;

export interface RegionAnswers {
  readonly name: string;
  readonly baseUrl: string;
  /** The path of the file that holds the token. */
  readonly tokenFile: string;
}

export type ReceiverAnswers =
  | { readonly kind: 'nobody' }
  | {
      readonly kind: 'email';
      readonly to: string;
      readonly smarthost: string;
      readonly from: string;
      /** The server takes mails only without encryption. */
      readonly isPlain?: boolean;
      /** Absent if the server requires no login. */
      readonly login?: { readonly user: string; readonly passwordFile: string };
    }
  | { readonly kind: 'slack' | 'msteamsv2' | 'webhook'; readonly urlFile: string };

export interface Answers {
  readonly regions: readonly RegionAnswers[];
  readonly receiver: ReceiverAnswers;
  /** Empty if people use the page only on this machine. */
  readonly externalUrl: string;
}

/** The receiver that is notified of everything. */
export const RECEIVER = 'ops';

/** Each value is quoted as JSON, which YAML reads unchanged. */
export function firstConfiguration({ regions, receiver, externalUrl }: Answers): string {
  return `# nestwatch's configuration. Check it with: nestwatch check-config nestwatch.yaml --online
# Every setting: config/README.md. A file named in …_file holds a secret, and is found from this folder.

# The instances of the service that are watched.
regions:
${regions.map(regionLines).join('')}
${receiver.kind === 'nobody' ? NOBODY : receiverLines(receiver)}
web:
  listen: 127.0.0.1:9465                # the page, /metrics and the API
${externalUrl ? `  external_url: ${quoted(externalUrl)}   # how people reach the page: messages link to it` : '  # external_url: https://nestwatch.example.com   # how people reach the page; without it messages link nowhere'}
`;
}

const quoted = (text: string) => JSON.stringify(text);

function regionLines({ name, baseUrl, tokenFile }: RegionAnswers): string {
  return `  ${quoted(name)}:
    base_url: ${quoted(baseUrl)}
    token_file: ${quoted(tokenFile)}
`;
}

const NOBODY = `# Nobody is notified: alerts are seen on the page and in /metrics alone.
route: { receiver: ${RECEIVER} }
receivers:
  - name: ${RECEIVER}
`;

function receiverLines(receiver: Exclude<ReceiverAnswers, { kind: 'nobody' }>): string {
  const route = `# Who is notified of what. The names and their meaning are Alertmanager's.
route:
  receiver: ${RECEIVER}
  group_by: [alertname, region, error]   # one message of one cause, also in eight Birds
  group_interval: 1m                     # how soon more of it is told

receivers:
  - name: ${RECEIVER}
`;
  const folded = '    fold_ends: 5m                        # what only ended or goes on is told together\n';
  if (receiver.kind !== 'email') {
    const key = receiver.kind === 'slack' ? 'api_url' : receiver.kind === 'msteamsv2' ? 'webhook_url' : 'url';
    return `${route}${receiver.kind === 'webhook' ? '' : folded}    ${receiver.kind}_configs:
      - ${key}_file: ${quoted(receiver.urlFile)}
        send_resolved: true
`;
  }
  const { to, smarthost, from, isPlain, login } = receiver;
  const credentials = login
    ? `  smtp_auth_username: ${quoted(login.user)}
  smtp_auth_password_file: ${quoted(login.passwordFile)}
`
    : '';
  return `global:
  smtp_smarthost: ${quoted(smarthost)}
  smtp_from: ${quoted(from)}
${isPlain ? '  smtp_require_tls: false               # the server offers no encryption\n' : ''}${credentials}
${route}${folded}    email_configs:
      - to: ${quoted(to)}
        send_resolved: true
`;
}
