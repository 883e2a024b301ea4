import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema, effectiveConfig } from '../../../src/config/effective.ts';
import { nestwatch, tempFile } from '../test-io.ts';

const CANARY = 'cAnArY-11';

async function show(text: string, ...more: string[]) {
  const file = tempFile('n.yaml', text);
  return nestwatch(['config', 'show', '--config.file', file, ...more], {
    environment: { TOKEN: CANARY, HOST: 'eu.example' },
  });
}

const REGION = `regions: { eu: { base_url: "https://\${HOST}/api-rest", token: "\${TOKEN}" } }\n`;

describe('config show', () => {
  test('prints every default, expanded references, and no secret [long]', async () => {
    const { exit, stdout, stderr } = await show(`${REGION}web: { enable_lifecycle: true }\n`);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(parse(stdout)).toMatchObject({
      regions: {
        eu: { base_url: 'https://eu.example/api-rest', token: '<secret>', concurrency: 8, timeout: '15s' },
      },
      store: { url: 'sqlite:data/nestwatch.db', retention: '30d' },
      poll: { interval: '30s', page_size: 100 },
      web: { listen: '127.0.0.1:9465', enable_lifecycle: true },
    });
    expect(stdout).not.toContain(CANARY);
    expect(JSON.parse((await show(REGION, '--json')).stdout).poll.interval).toBe('30s');
  });

  test('what it prints is a valid configuration again, apart from the secrets', async () => {
    const { stdout } = await show(REGION);
    const again = await show(stdout);
    expect([again.exit, again.stdout]).toEqual([0, stdout]);
  });

  test('prints what is in force where a default depends on what else is given', async () => {
    const { stdout } = await show(`${REGION}poll: { interval: 5s }
receivers: [{ name: ops }, { name: night }]
route:
  receiver: ops
  group_by: [nest]
  group_wait: 5s
  routes: [{ matchers: [severity="info"], repeat_interval: 1d, routes: [{ receiver: night }] }]
`);
    const { poll, route } = parse(stdout);
    expect(poll).toMatchObject({ interval: '5s', min_interval: '5s', max_interval: '5m' });
    const inherited = { group_by: ['nest'], group_wait: '5s', group_interval: '5m' };
    expect(route.routes[0]).toMatchObject({ ...inherited, receiver: 'ops', repeat_interval: '1d' });
    expect(route.routes[0].routes[0]).toMatchObject({
      ...inherited,
      receiver: 'night',
      repeat_interval: '1d',
    });
    expect((await show(stdout)).stdout).toBe(stdout);
  });

  test('prints mistakes instead', async () => {
    expect(await show(`${REGION}reciever: x\n`)).toMatchObject({ exit: 2, stdout: '' });
  });
});

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly type?: string;
  readonly writeOnly?: boolean;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** A value for each key of the schema, with the canary wherever a value is secret or may come from a file of its own. */
function everything(schema: Schema, definitions: Schema['definitions'], depth = 0): unknown {
  const { $ref, anyOf = [], allOf = [], properties, additionalProperties, items, type } = schema;
  if (depth > 12) return undefined;
  const inner = (one: Schema) => everything(one, definitions, depth + 1);
  if ($ref) return inner(definitions![$ref.replace('#/definitions/', '')]!);
  const choices = [...anyOf, ...allOf];
  if (choices.length > 0 && !properties)
    return choices.map(inner).find((one) => typeof one === 'object') ?? 'x';
  if (properties) {
    const entries = Object.entries(properties).map(([key, one]) => [
      key,
      one.writeOnly || properties[`${key}_file`]?.type === 'string' ? CANARY : inner(one),
    ]);
    return Object.fromEntries(entries);
  }
  if (typeof additionalProperties === 'object') return { some: inner(additionalProperties) };
  if (items) return [inner(items)];
  return type === 'string' ? 'x' : 1;
}

test('no secret is printed, whichever it is', () => {
  const schema = configJsonSchema() as Schema;
  const all = everything(schema, schema.definitions);
  expect(JSON.stringify(all).split(CANARY).length).toBeGreaterThan(20);
  expect(JSON.stringify(effectiveConfig(all))).not.toContain(CANARY);
});

test("a chat's id is printed, which is no secret", () => {
  const entry = { bot_token: CANARY, chat_id: -1001234567890 };
  const { receivers } = effectiveConfig({ receivers: [{ name: 'a', telegram_configs: [entry] }] }) as {
    receivers: [{ telegram_configs: [unknown] }];
  };
  expect(receivers[0].telegram_configs[0]).toMatchObject({
    bot_token: '<secret>',
    chat_id: -1001234567890,
  });
});

test('secret headers and parameters, and keys and passwords in addresses, are not printed', () => {
  const headers = { 'X-Key': { secrets: [CANARY], values: ['seen'] } };
  const oauth2 = {
    client_id: 'seen too',
    token_url: `https://login.example/token?code=${CANARY}#x`,
    endpoint_params: { audience: CANARY },
  };
  const config = {
    receivers: [
      {
        name: 'a',
        webhook_configs: [{ http_config: { http_headers: headers, oauth2 } }],
        telegram_configs: [{ api_url: `https://bots.example/?key=${CANARY}`, chat_id: -100123 }],
      },
    ],
    rules: [{ kind: 'FlightFailed', annotations: { runbook_url: 'https://wiki.example/x?page=2' } }],
    web: { external_url: `https://u:p@${CANARY}@watch.example/x` },
  };
  const text = JSON.stringify(effectiveConfig(config));
  expect(text).not.toContain(CANARY);
  for (const seen of ['seen', 'seen too', 'https://wiki.example/x?page=2'])
    expect(text).toContain(`"${seen}"`);
  expect(text).toContain('"chat_id":-100123');
  expect(text).toContain('"https://login.example/token?<secret>"');
  expect(text).toContain('https://<secret>@watch.example/x');
});

test('version prints the versions of nestwatch and Node', async () => {
  const { stdout } = await nestwatch(['version']);
  expect(stdout).toBe((await nestwatch(['--version'])).stdout);
  expect(JSON.parse((await nestwatch(['version', '--json'])).stdout)).toMatchObject({
    version: '0.1.0',
    node: process.version,
  });
});
