/**
 * The only script of the pages, which also work without it. It tells the server the reader's time zone by a cookie,
 * answers to keys, and keeps a page up to date. When the stream `/api/v1/stream` says that something changed, it fetches the page
 * again and changes only what differs; without a stream, as on public pages, every half minute. Elements that stay the same are not replaced, so the focus, a selection, the
 * scroll position and opened details are kept. A form that somebody is filling in is left alone. A page that could not
 * be updated for a while says so and loses its colours: green must not outlive the watch.
 */
import { createHash } from 'node:crypto';

export const ZONE_COOKIE = 'nestwatch_zone';

export const SCRIPT = `(() => {
  'use strict';
  const clockMs = () => performance.now();
  const stream = document.body.dataset.stream;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const LEAST_GAP_MS = 2000, ASK_ANYWAY_MS = 30000, WITHOUT_STREAM_MS = 10000, STALE_MS = 30000;
  if (zone) document.cookie = '${ZONE_COOKIE}=' + zone + '; path=/; max-age=31536000; samesite=lax';

  // Keys of one character can be turned off, since a voice that types may press them.
  const keys = document.getElementById('keys');
  const keysSwitch = keys?.querySelector('[data-own=keys]');
  const areKeysOff = () => document.cookie.includes('nestwatch_keys=off');
  const showKeysSwitch = () => keysSwitch?.setAttribute('aria-pressed', String(areKeysOff()));
  keysSwitch?.addEventListener('click', () => {
    document.cookie = 'nestwatch_keys=' + (areKeysOff() ? 'on' : 'off') + '; path=/; max-age=31536000; samesite=lax';
    showKeysSwitch();
  });
  showKeysSwitch();

  const ITEM = 'main li.alert, main ul.sheet > li, main tbody tr';
  const heldItem = () => document.activeElement?.closest(ITEM);
  function step(by) {
    const items = [...document.querySelectorAll(ITEM)].filter((one) => one.checkVisibility() && one.querySelector('a[href]'));
    const at = items.indexOf(heldItem());
    const next = items[at < 0 ? 0 : Math.min(Math.max(at + by, 0), items.length - 1)];
    next?.querySelector('a[href]').focus();
    next?.scrollIntoView({ block: 'nearest' });
  }
  function act(key) {
    const found = (heldItem() ?? document).querySelectorAll('main [data-key=' + key + ']');
    if (found.length === 1) found[0].click();
  }
  const KEYS = new Map([
    ['/', () => document.querySelector('input[type=search]')?.focus()],
    ['j', () => step(1)],
    ['k', () => step(-1)],
    ['a', () => act('a')],
    ['s', () => act('s')],
    ['x', () => heldItem()?.querySelector('[form=chosen]')?.click()],
    ['?', () => keys?.showModal()],
  ]);
  addEventListener('keydown', (event) => {
    const run = KEYS.get(event.key);
    const isTyping = event.target.closest?.('input:not([type=checkbox]), textarea, select, dialog');
    if (event.key === 'Escape' && event.target.type === 'search') event.target.blur();
    if (!run || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.key !== '?' && areKeysOff()) return;
    event.preventDefault();
    run();
  });
  if (stream === undefined) {
    // At the first visit the server did not know the zone. Once is enough: it may not know this zone at all.
    const isFirst = performance.getEntriesByType('navigation')[0]?.type === 'navigate';
    if (isFirst && zone && zone !== document.body.dataset.zone && document.cookie.includes('${ZONE_COOKIE}=')) location.reload();
    return;
  }

  // A page that this one is replaced by may have no notice.
  const { title: staleTitle, icon: staleIcon } = document.querySelector('.stale').dataset;
  const keyOf = (node) => node.nodeType !== 1 ? '' : node.id || (/^(LI|TR)$/.test(node.tagName) && node.querySelector('a[href]')?.getAttribute('href')) || '';
  const isAlike = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
  const usual = (options) => options.find((one) => one.defaultSelected) ?? options[0];
  const isTyped = (field) => field.tagName === 'SELECT' ? field.selectedOptions[0] !== usual([...field.options])
    : /^(checkbox|radio)$/.test(field.type) ? field.checked !== field.defaultChecked : field.type !== 'hidden' && field.value !== field.defaultValue;
  const isInUse = (form) => form.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')
    || [...form.querySelectorAll('input, textarea, select')].some(isTyped);

  function update(old, now) {
    if (old.nodeType !== 1) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    if (old.isEqualNode(now) || old.tagName === 'SCRIPT' || old.dataset.own !== undefined || old.tagName === 'FORM' && isInUse(old)) return;
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
    for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value && name !== 'open') old.setAttribute(name, value);
    updateChildren(old, now);
  }

  function updateChildren(old, now) {
    const wanted = [...now.childNodes];
    let at = old.firstChild;
    for (const [index, child] of wanted.entries()) {
      // Removes obsolete elements in the way, but keeps those that are needed later.
      while (at && !isAlike(at, child) && !wanted.slice(index).some((later) => isAlike(at, later))) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      if (at && isAlike(at, child)) {
        update(at, child);
        at = at.nextSibling;
        continue;
      }
      let moved = at;
      if (keyOf(child)) while (moved && !isAlike(moved, child)) moved = moved.nextSibling;
      if (keyOf(child) && moved) {
        old.insertBefore(moved, at);
        update(moved, child);
      } else old.insertBefore(document.importNode(child, true), at);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }

  let isPaused = false, isAsking = false, isDue = false, timer, source, lastMs = -LEAST_GAP_MS, gapMs = LEAST_GAP_MS;
  let freshMs = clockMs(), hasFailed = false;
  const root = document.documentElement;

  // A notice of the page, hidden until then, says since when.
  function failed() {
    hasFailed = true;
    if (isPaused || clockMs() - freshMs <= STALE_MS) return;
    root.dataset.stale = '';
    document.title = staleTitle;
    document.querySelector('link[rel=icon]').href = staleIcon;
  }

  // Who is no longer logged in, for instance, is sent elsewhere. Only a page that was updated before is loaded again, so
  // that this does not repeat itself.
  function leave() {
    if (root.dataset.updated !== undefined && ![...document.forms].some(isInUse)) location.reload();
  }

  async function refresh() {
    isDue = false;
    isAsking = true;
    const beganMs = clockMs();
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual', signal: AbortSignal.timeout(STALE_MS) });
      if (!isPaused && (answer.type === 'opaqueredirect' || answer.status === 401)) leave();
      if (!answer.ok) failed();
      else if (!isPaused) {
        const now = new DOMParser().parseFromString(await answer.text(), 'text/html');
        const focused = document.activeElement;
        if (document.title !== now.title) document.title = now.title;
        document.querySelector('link[rel=icon]').href = now.querySelector('link[rel=icon]').href;
        updateChildren(document.body, now.body);
        // An element loses the focus when it is moved.
        if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
        root.dataset.updated = String(Number(root.dataset.updated ?? 0) + 1);
        delete root.dataset.stale;
        hasFailed = false;
        freshMs = clockMs();
      }
    } catch {
      failed();
    }
    lastMs = clockMs();
    // A page that takes long to load is fetched less often.
    gapMs = hasFailed ? WITHOUT_STREAM_MS : Math.max(LEAST_GAP_MS, 10 * (lastMs - beganMs));
    isAsking = false;
    plan(isDue ? gapMs : hasFailed || source?.readyState === 2 ? WITHOUT_STREAM_MS : ASK_ANYWAY_MS);
  }

  function plan(ms) {
    clearTimeout(timer);
    if (!isPaused && !document.hidden) timer = setTimeout(refresh, ms);
  }

  function changed() {
    if (isAsking) isDue = true;
    else plan(Math.max(0, lastMs + gapMs - clockMs()));
  }

  // A browser opens few connections to one server, so only visible pages hold one.
  function follow() {
    source?.close();
    source = undefined;
    clearTimeout(timer);
    if (isPaused || document.hidden) return;
    if (stream) source = new EventSource(stream);
    source?.addEventListener('change', changed);
    changed();
  }

  const button = document.querySelector('[data-own=pause]');
  button.hidden = false;
  button.addEventListener('click', () => {
    isPaused = !isPaused;
    button.setAttribute('aria-pressed', String(isPaused));
    follow();
  });
  document.addEventListener('visibilitychange', follow);
  addEventListener('pagehide', () => source?.close());
  addEventListener('pageshow', (event) => event.persisted && follow());

  // Something may have changed since the page was rendered. If its time zone was another one, it is fetched again at
  // once.
  if (zone === document.body.dataset.zone) lastMs = clockMs();
  follow();
})();`;

/** The only script that a page may run, for its content security policy. */
export const SCRIPT_HASH = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;
