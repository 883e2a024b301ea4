/** The scripts with which a browser is notified: one of the page that subscribes it, and its service worker. */
import { createHash } from 'node:crypto';

/** Completes the form with a subscription, once the person has allowed it. */
export const SUBSCRIBE_SCRIPT = `(async () => {
  'use strict';
  const form = document.getElementById('subscribe');
  const cannot = (why) => { for (const one of document.querySelectorAll('[data-cannot]')) one.hidden = one.dataset.cannot !== why; };
  if (!form) return;
  form.hidden = !('serviceWorker' in navigator && 'PushManager' in window);
  if (form.hidden) return cannot(isSecureContext ? 'unable' : 'insecure');
  const { root, key } = form.dataset;
  const worker = await navigator.serviceWorker.register(root + 'service-worker.js', { scope: root });
  const present = await worker.pushManager.getSubscription();
  const bytes = present && await crypto.subtle.digest('SHA-256', new TextEncoder().encode(present.endpoint));
  const id = bytes && Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
  for (const one of document.querySelectorAll('[data-browser]')) one.querySelector('.pill').hidden = one.dataset.browser !== id;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    cannot('');
    const options = { userVisibleOnly: true, applicationServerKey: key };
    try {
      await navigator.serviceWorker.ready;
      // A subscription for other keys, such as those of a store before, is of no use.
      const made = await worker.pushManager.subscribe(options).catch(async () => {
        await (await worker.pushManager.getSubscription())?.unsubscribe();
        return worker.pushManager.subscribe(options);
      });
      const { endpoint, keys } = made.toJSON();
      Object.entries({ endpoint, ...keys }).forEach(([name, value]) => { form.elements[name].value = value; });
      form.submit();
    } catch (error) {
      cannot(error.name === 'NotAllowedError' ? 'refused' : 'unreached');
    }
  });
})();`;

export const SUBSCRIBE_HASH = `'sha256-${createHash('sha256').update(SUBSCRIBE_SCRIPT).digest('base64')}'`;

/** What it is told is text: neither title nor body can hold markup. */
export const SERVICE_WORKER = `'use strict';
addEventListener('push', (event) => {
  const { title, body, url, tag } = event.data.json();
  event.waitUntil(registration.showNotification(title, { body, tag, data: url }));
});
addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(clients.openWindow(event.notification.data || registration.scope));
});
`;
