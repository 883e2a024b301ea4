export type Environment = Readonly<Record<string, string | undefined>>;

type Expansion =
  | { readonly ok: true; readonly text: string; readonly isExpanded: boolean }
  | { readonly ok: false; readonly message: string };

/** `$$`, `${NAME}` or `${NAME:-default}`. A bare `${` matches too, so that it can be refused. */
const REFERENCE = /\$\$|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?/g;

/**
 * Expands environment variables in a text. The values are not expanded again, so a token may contain any character.
 * As in a shell, the default after `:-` also replaces an empty variable.
 */
export function expand(text: string, environment: Environment): Expansion {
  const unset: string[] = [];
  let isExpanded = false;
  let isBroken = false;
  const result = text.replace(REFERENCE, (match, name?: string, otherwise?: string) => {
    if (match === '$$') return '$';
    if (name === undefined) {
      isBroken = true;
      return match;
    }
    isExpanded = true;
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (otherwise !== undefined) return value ? value : otherwise;
    if (value === undefined) unset.push(name);
    return value ?? '';
  });
  if (isBroken) {
    return {
      ok: false,
      message: '`${' + '` must go on as `NAME}` or `NAME:-default}`; a dollar alone is `$$`',
    };
  }
  if (unset.length > 0) {
    const names = unset.map((name) => `$${name}`).join(', ');
    const verb = unset.length === 1 ? 'is' : 'are';
    return { ok: false, message: `${names} ${verb} not set in the environment` };
  }
  return { ok: true, text: result, isExpanded };
}
