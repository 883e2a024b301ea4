/** A daemon with something on every page: alerts that fire, are acknowledged or resolved, a silence, refusals. */
import { openLiveDaemon, until } from '../live-daemon.ts';
import { createSkippingClock } from './skipping-clock.ts';

export async function openPagesDaemon() {
  const clock = createSkippingClock();
  const daemon = await openLiveDaemon({
    clock,
    routes: [`{ matchers: ['bird="Sort mail"'], receiver: refused, group_by: [alertname, bird] }`],
    receivers: (hookUrl) => [`{ name: refused, webhook_configs: [{ url: "${hookUrl}refused" }] }`],
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers in JSON, of which a test reads what it looks for.
  const ask = async (path: string): Promise<any> => (await fetch(new URL(path, daemon.url))).json();
  daemon.fails('Translate blog');
  daemon.fails('Sort mail');
  await until(async () => (await ask('api/v1/alerts?state=firing')).alerts.length === 2, 'two alerts fire');
  // A refusal counts as final after the third, six minutes after the first.
  for (const refusals of [1, 2, 3]) {
    await until(
      async () =>
        (await ask('api/v1/deliveries?receiver=refused')).deliveries[0]?.last_error.includes(
          `${refusals} of 3`,
        ),
      `it is refused ${refusals} times`,
    );
    clock.skip(refusals === 1 ? 60_000 : 300_000);
  }
  return { ...daemon, ask };
}

/** Follows the links of the pages from the overview on: one address of each kind of page, by the form of its path. */
export async function crawl(root: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const forms = new Set(['']);
  const seen = new Set([root]);
  const queue = [root];
  for (let at = 0; at < queue.length; at += 1) {
    const response = await fetch(queue[at]!);
    // A file is no page.
    if (!response.headers.get('content-type')?.startsWith('text/html')) continue;
    found.set(formOf(new URL(queue[at]!), root), queue[at]!);
    const base = response.url;
    // A chip asks for less of the same list: all combinations would be hundreds of pages.
    const text = (await response.text()).replaceAll(/<a class="chip"[^>]*>/g, '');
    for (const [, href = ''] of text.matchAll(/href="([^"]*)"/g)) {
      const address = new URL(href.replaceAll('&amp;', '&'), base);
      address.hash = '';
      if (!address.href.startsWith(root) || seen.has(address.href)) continue;
      seen.add(address.href);
      const form = formOf(address, root);
      if (forms.has(form) || /^(api|metrics)\b/.test(form)) continue;
      forms.add(form);
      queue.push(address.href);
    }
  }
  return found;
}

/** `birds/{}/{}` for the page of a Bird, `silence?alert` for one that the address pre-fills. */
function formOf({ pathname, searchParams }: URL, root: string): string {
  const [room, ...rest] = pathname.slice(new URL(root).pathname.length).split('/');
  const names = [...searchParams.keys()].sort().join('&');
  return [room, ...rest.map(() => '{}')].join('/') + (names && `?${names}`);
}
