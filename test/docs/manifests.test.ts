/**
 * Checks the Kubernetes manifests with types generated from Kubernetes' own OpenAPI: no key is unknown, none is
 * missing.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const CONFIG = join(ROOT, 'config/kubernetes');
const TYPES = join(ROOT, 'node_modules/kubernetes-types');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-manifests-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Belongs to Kustomize or the Prometheus operator, which have their own types. */
const FOREIGN = /^(kustomize\.config\.k8s\.io|monitoring\.coreos\.com)\//;

// Kubernetes reads YAML 1.1, in which 0440 is octal.
const MANIFESTS = globSync('**/*.yaml', { cwd: CONFIG })
  .map((file) => ({
    file,
    manifest: parse(readFileSync(join(CONFIG, file), 'utf8'), { version: '1.1' }) as Manifest,
  }))
  .filter(({ manifest }) => manifest.kind !== undefined && !FOREIGN.test(manifest.apiVersion));

/** The compiler's errors for the manifests as values of their types; empty if they are right. */
function mistakesIn(name: string, manifests: readonly { file: string; manifest: Manifest }[]): string {
  const lines = manifests.map(({ file, manifest: { apiVersion, kind, ...rest } }, index) => {
    const [version, group = 'core'] = apiVersion.split('/').toReversed();
    const module = `${TYPES}/${group.split('.')[0]}/${version}.d.ts`;
    const value = JSON.stringify({ apiVersion, kind, ...rest }, null, 1);
    return `// ${file}\nimport type { ${kind} as Kind${index} } from '${module}';\nexport const m${index}: Kind${index} = ${value};`;
  });
  const path = join(folder, name);
  writeFileSync(path, lines.join('\n'));
  const options = '--noEmit --strict --ignoreConfig --skipLibCheck --module nodenext --pretty false'.split(
    ' ',
  );
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...options, path], { encoding: 'utf8' });
  return stdout + stderr;
}

describe('manifests', () => {
  test('are of the expected kinds', () => {
    const kinds = MANIFESTS.map(({ manifest }) => manifest.kind).toSorted();
    expect(kinds).toEqual([
      'Deployment',
      'NetworkPolicy',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
      'StatefulSet',
    ]);
  });

  test('have every key that their type requires, and none that it does not know [long]', () => {
    expect(mistakesIn('manifests.mts', MANIFESTS)).toBe('');
  });

  test('a mistake in one would be found [long]', () => {
    const { manifest } = MANIFESTS.find(({ file }) => file === 'stateful-set.yaml')!;
    const { spec, ...rest } = manifest as Manifest & { spec: Record<string, unknown> };
    const { selector: _, ...without } = spec;
    const wrong = [{ ...spec, replica: 1 }, { ...spec, replicas: '1' }, without];
    const found = mistakesIn(
      'mistakes.mts',
      wrong.map((one) => ({ file: 'wrong', manifest: { ...rest, spec: one } as Manifest })),
    );
    expect(found).toContain("'\"replica\"' does not exist in type 'StatefulSetSpec'");
    expect(found).toContain("Type 'string' is not assignable to type 'number'");
    expect(found).toContain("Property 'selector' is missing");
  });
});
