/** The files by which nestwatch is installed name what there is, and say the same as each other. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { VERSION } from '../../src/version.ts';

const CONFIG = join(import.meta.dirname, '../../config');
const read = (file: string) => readFileSync(join(CONFIG, file), 'utf8');

test.each(['compose/nestwatch.yaml', 'kubernetes/nestwatch.yaml'])('%s loads', (file) => {
  const config = loadConfig({ file, text: read(file), environment: {}, readFile: () => 'a secret' });
  expect(config.receivers.flatMap(({ integrations }) => integrations)).toHaveLength(1);
  expect([config.web.host, config.web.port]).toEqual(['0.0.0.0', 9465]);
});

test('image and manifests name this version', () => {
  const dockerfile = readFileSync(join(CONFIG, '../Dockerfile'), 'utf8');
  expect(dockerfile).toContain(`image.version="${VERSION}"`);
  expect(parse(read('kubernetes/kustomization.yaml')).images[0].newTag).toBe(VERSION);
});

interface Service {
  readonly image: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

describe('compose.yaml', () => {
  const compose = parse(read('compose/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>;
    volumes: Record<string, null>;
  };
  const services = Object.entries(compose.services);

  test.each(services)('%s can change nothing but its volumes, and only this machine reaches it', (_, one) => {
    expect([one.read_only, one.cap_drop]).toEqual([true, ['ALL']]);
    expect(one.image).toMatch(/^nestwatch$|:v?\d+\.\d+\.\d+$/);
    expect((one.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('Grafana asks services that there are', () => {
    const { datasources } = parse(read('compose/grafana/datasources/datasources.yaml')) as {
      datasources: { uid: string; url: string }[];
    };
    const hosts = datasources.map(({ url }) => new URL(url).hostname);
    expect(hosts).toEqual(['prometheus', 'nestwatch']);
    expect(hosts.filter((host) => !Object.hasOwn(compose.services, host))).toEqual([]);
  });

  test.each(services)('%s mounts what there is', (_, { volumes = [] }) => {
    for (const volume of volumes) {
      const source = volume.split(':', 1)[0]!;
      const isThere = source.startsWith('.')
        ? existsSync(join(CONFIG, 'compose', source))
        : Object.hasOwn(compose.volumes, source);
      expect(isThere, volume).toBe(true);
    }
  });
});

describe('kustomizations', () => {
  test.each(['kubernetes', 'kubernetes/monitoring', 'grafana'])('%s names files that there are', (folder) => {
    const { resources = [], configMapGenerator = [] } = parse(read(`${folder}/kustomization.yaml`)) as {
      resources?: string[];
      configMapGenerator?: { files: string[] }[];
    };
    const named = [...resources, ...configMapGenerator.flatMap(({ files }) => files)];
    expect(named.filter((file) => !existsSync(join(CONFIG, folder, file)))).toEqual([]);
    expect(named).not.toEqual([]);
  });

  test('the pod runs as anybody but root, and can change nothing but its volumes', () => {
    const { spec } = parse(read('kubernetes/stateful-set.yaml')).spec.template;
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(spec.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });
});
