import { writeFile } from 'node:fs/promises';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';

const FILE = 'nestwatch.yaml';

/** A minimal configuration with hints; `config/nestwatch.yaml` shows most settings. */
const FIRST_CONFIGURATION = `# nestwatch's configuration. Check it with: nestwatch check-config ${FILE}
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

/** Throws `usage` if the file exists: it is never overwritten. */
export async function init(edge: Edge, options: { readonly stdout: boolean }): Promise<number> {
  if (options.stdout) {
    edge.stdout.write(FIRST_CONFIGURATION);
    return 0;
  }
  try {
    await writeFile(FILE, FIRST_CONFIGURATION, { flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') {
      throw new NestwatchError(
        'usage',
        `${FILE} exists already and stays as it is; --stdout prints a new one`,
      );
    }
    throw new NestwatchError('usage', `${FILE} cannot be written here (${code})`, { cause: error });
  }
  edge.stderr.write(
    `${FILE} is written. Set NESTWATCH_EU_TOKEN and NESTWATCH_US_TOKEN, then: nestwatch check-config ${FILE} --online\n`,
  );
  return 0;
}
