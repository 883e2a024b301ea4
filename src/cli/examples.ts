/** Examples for the help of each command, by the command's words: complete command lines. */
import type { Command } from 'commander';

const EXAMPLES: ReadonlyMap<string, readonly string[]> = new Map([
  ['run', ['run --config.file /etc/nestwatch/nestwatch.yaml', 'run --once --log.format json']],
  ['demo', ['demo', 'demo --for 60s']],
  [
    'simulate',
    [
      'simulate --listen 127.0.0.1:8080 --birds 50 --seed 7',
      'simulate --listen 127.0.0.1:8080 --birds 0 --quiet --control 127.0.0.1:8081',
    ],
  ],
  ['check-config', ['check-config nestwatch.yaml', 'check-config --online --strict']],
  ['config show', ['config show', 'config show --json | jq .route']],
  ['store backup', ['store backup /backup/nestwatch-$(date +%F).db']],
  ['store check', ['store check', 'store check /backup/nestwatch-2026-07-02.db --json']],
  [
    'store copy',
    [
      'store copy --from sqlite:data/nestwatch.db --to postgres://nestwatch@db/nestwatch --to-password-file db-password',
      'store copy --from postgres://nestwatch@db/nestwatch --to sqlite:data/nestwatch.db',
      'store copy --from sqlite:/backup/nestwatch-2026-07-02.db',
    ],
  ],
  ['doctor', ['doctor', 'doctor --watch 5m --json']],
  [
    'backfill',
    [
      'backfill --from 2026-06-20T00:00:00Z',
      'backfill --from 2026-07-01T00:00:00Z --to 2026-07-02T00:00:00Z --region eu --notify',
    ],
  ],
  ['status', ['status', 'status --url http://watch.example:9465 --token-file token --json']],
  ['healthcheck', ['healthcheck --url http://127.0.0.1:9465']],
  ['alerts list', ['alerts', 'alerts list FlightFailed \'nest=~"Prod.*"\' --silenced']],
  [
    'alerts note',
    ['alerts note FlightFailed/nightly/eu/bird/148890 "The TMS is down; their support is on it" --public'],
  ],
  ['alerts resolve', ['alerts resolve \'entity_name="Phrase TMS"\' --comment "Signed in again"']],
  [
    'silence add',
    [
      'silence add FlightFailed \'bird="Translate blog"\' --duration 2h --comment "TMS is down"',
      'silence add nest=Sandbox --cron "0 2 * * 6" --window 3h --duration 90d --comment "Maintenance" --dry-run',
    ],
  ],
  ['silence acknowledge', ['silence acknowledge FlightFailed nest=Marketing --comment "On it"']],
  ['silence list', ['silence list', 'silence query --created-by ann --quiet']],
  ['silence update', ['silence update 6b1f0c5e-7d0a-4f5e-9a53-2f1c7f3f2a10 --duration 4h']],
  ['silence expire', ['silence expire 6b1f0c5e-7d0a-4f5e-9a53-2f1c7f3f2a10']],
  ['silence export', ['silence export > silences.json']],
  [
    'silence import',
    ['silence import silences.json', 'amtool silence query -o json | nestwatch silence import'],
  ],
  ['routes show', ['routes show']],
  ['routes test', ['routes test alertname=FlightFailed severity=critical region=eu']],
  ['birds list', ['birds', 'birds list region=eu standing=failing']],
  ['birds show', ['birds show "Translate blog"']],
  ['birds export', ['birds export > birds.yaml', 'birds export --nest "Prod*" > production.yaml']],
  ['birds check', ['birds check birds.yaml', 'birds check birds.yaml --json | jq .drifts']],
  ['flights list', ['flights list status=failed since=2h']],
  ['flights show', ['flights show 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b']],
  ['deliveries list', ['deliveries --dead', 'deliveries list --receiver pager --limit 20']],
  ['deliveries retry', ['deliveries retry 7f3e91-0']],
  ['explain', ['explain eu/flight/0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b/failed']],
  ['test-receiver', ['test-receiver ops --dry-run', 'test-receiver pager --resolved']],
  ['render', ['render ops']],
  ['schema', ['schema > nestwatch.schema.json']],
  ['completion', ['completion bash > /etc/bash_completion.d/nestwatch']],
  ['hash-password', ['hash-password < password.txt']],
  ['init', ['init', 'init --guided', 'init --stdout']],
  ['version', ['version --json']],
]);

/**
 * Adds the examples to the help of all commands below this one. The help of a group shows one example of each of its
 * commands.
 */
export function addExamples(command: Command, at = ''): void {
  for (const one of command.commands) {
    const name = at ? `${at} ${one.name()}` : one.name();
    const below = one.commands.flatMap((sub) => EXAMPLES.get(`${name} ${sub.name()}`)?.slice(0, 1) ?? []);
    const lines = EXAMPLES.get(name) ?? below;
    const text = lines.map((line) => `  ${typed(line)}\n`).join('');
    if (text) one.addHelpText('after', `\nExamples:\n${text}`);
    addExamples(one, name);
  }
}

/** A line with a pipe already contains the name `nestwatch`. */
function typed(line: string): string {
  return line.includes('| nestwatch ') ? line : `nestwatch ${line}`;
}
