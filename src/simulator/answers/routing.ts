/** Finds the operation for a method and a path, and the ids in the path. */

/** The prefix of every path. */
export const API_PREFIX = '/api-rest';

export interface Route<Answer> {
  readonly id: string;
  readonly method: string;
  /** The path below the prefix; a `{name}` segment takes an id. */
  readonly segments: readonly string[];
  readonly answer: Answer;
}

interface Routed<Answer> {
  readonly route: Route<Answer> | undefined;
  readonly ids: Readonly<Record<string, string>>;
  /** The methods that the path supports, if it does not support the one requested. */
  readonly allowed: readonly string[];
}

export function route<Answer>(id: string, method: string, path: string, answer: Answer): Route<Answer> {
  return { id, method, segments: path.split('/'), answer };
}

export function routed<Answer>(
  routes: readonly Route<Answer>[],
  method: string,
  path: string,
  prefix = API_PREFIX,
): Routed<Answer> {
  const allowed: string[] = [];
  const below = path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1).split('/') : [];
  const segments = below.map(decoded);
  for (const route of routes) {
    const ids = matched(route.segments, segments);
    if (!ids) continue;
    if (route.method === method) return { route, ids, allowed };
    allowed.push(route.method);
  }
  return { route: undefined, ids: {}, allowed };
}

function matched(
  pattern: readonly string[],
  segments: readonly (string | undefined)[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const ids: Record<string, string> = {};
  for (const [at, part] of pattern.entries()) {
    const segment = segments[at];
    if (!segment) return undefined;
    if (part.startsWith('{')) ids[part.slice(1, -1)] = segment;
    else if (part !== segment) return undefined;
  }
  return ids;
}

/** Undefined for an invalid percent-escape. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
