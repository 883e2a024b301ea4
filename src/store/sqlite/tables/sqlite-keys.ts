import type { UpkeepStore } from '../../upkeep-store.ts';
import type { Connection } from '../connection.ts';

export function createKeys(connection: Connection): Pick<UpkeepStore, 'signingKey'> {
  const put = connection.prepare('INSERT OR IGNORE INTO signing_key (name, value) VALUES (?, ?)');
  const get = connection.prepare<{ value: string }>('SELECT value FROM signing_key WHERE name = ?');

  return {
    async signingKey(name, fresh) {
      put.run(name, fresh);
      return get.get(name)!.value;
    },
  };
}
