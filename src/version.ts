import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

/** The revision is known if the image was built from one. */
export function versionText(environment: Readonly<Record<string, string | undefined>>): string {
  const revision = environment.NESTWATCH_REVISION;
  return `nestwatch ${VERSION} (${revision ? `revision ${revision}, ` : ''}Node ${process.version})`;
}
