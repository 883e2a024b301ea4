/**
 * Finds out what a 403 about a Nest means: the token has no rights there, or a gateway limits the rate in this way. A
 * second answer to the same request, a little later, shows which. If it is a 403 again, the token has no rights to what
 * is requested. If the request is answered, it was a limit, and from then on such a 403 counts as a refusal.
 */

/** The most requests remembered. Beyond this, the one that was refused first is forgotten. */
const MOST_REMEMBERED = 10_000;

/** Requests are given as paths below `base_url`, whose query does not matter. */
export class ForbiddenRequests {
  /** What was answered 403 twice in a row. */
  readonly #withoutRights = new Set<string>();
  #isLimitSeen = false;

  /** Whether the 403 may be due to the rate, so that the request should be sent again. */
  mayBeLimit(target: string): boolean {
    return !this.#withoutRights.has(withoutQuery(target));
  }

  /** Whether the 403 counts as a refusal because of the rate. */
  isLimit(target: string): boolean {
    return this.#isLimitSeen && this.mayBeLimit(target);
  }

  /** The request was answered 403 again. */
  again(target: string): void {
    const [oldest] = this.#withoutRights.size >= MOST_REMEMBERED ? this.#withoutRights : [];
    if (oldest !== undefined) this.#withoutRights.delete(oldest);
    this.#withoutRights.add(withoutQuery(target));
  }

  /** The request was answered, `afterForbidden` after a 403. Returns whether this shows a limit for the first time. */
  answered(target: string, afterForbidden: boolean): boolean {
    if (this.#withoutRights.size > 0) this.#withoutRights.delete(withoutQuery(target));
    const isFirst = afterForbidden && !this.#isLimitSeen;
    this.#isLimitSeen ||= afterForbidden;
    return isFirst;
  }
}

function withoutQuery(target: string): string {
  const queryAt = target.indexOf('?');
  return queryAt < 0 ? target : target.slice(0, queryAt);
}
