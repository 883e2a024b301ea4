/**
 * Compares passwords with their hashes. Each comparison takes memory and a thread, so they run one after another and
 * only a few may wait. A correct password is remembered, so that a browser does not wait at every page.
 */
import { createHash } from 'node:crypto';
import { isPasswordOf } from '../../http/password-hash.ts';
import { LIMITS } from '../../limits.ts';

interface PasswordCheck {
  /** `busy` if too many are already waiting. */
  check(user: string, password: string, hash: string): Promise<'fits' | 'wrong' | 'busy'>;
}

/** The most passwords remembered, as digests. */
const MAX_REMEMBERED = 100;

export function createPasswordCheck(): PasswordCheck {
  const remembered = new Set<string>();
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  return {
    async check(user, password, hash) {
      const digest = createHash('sha256')
        .update(JSON.stringify([user, password, hash]))
        .digest('base64');
      if (remembered.has(digest)) return 'fits';
      if (waiting >= LIMITS.waiting_passwords.most) return 'busy';
      waiting += 1;
      const answer = last.then(() => isPasswordOf(hash, password));
      last = answer.catch(() => {});
      try {
        if (!(await answer)) return 'wrong';
      } finally {
        waiting -= 1;
      }
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.add(digest);
      return 'fits';
    },
  };
}
