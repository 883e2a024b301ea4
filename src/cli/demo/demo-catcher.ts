/**
 * Catches what the demo's daemon sends: a mail server and a webhook receiver on loopback, and a web page with the
 * mails.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { html } from 'hono/html';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { howMany } from '../../text/instant-words.ts';
import { frame } from '../../web/pages/frame/page-frame.ts';
import { ENGLISH } from '../../web/pages/frame/words.ts';

export interface CaughtMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface Caught {
  readonly mails: CaughtMail[];
  /** The ids of accepted webhook calls. */
  readonly webhooks: string[];
  /**
   * The number of calls that were repeated with an earlier id, for example after a late answer. Receivers drop those.
   */
  webhooksAgain: number;
  /** The keys of forwarded events in the order of arrival. Duplicates are included, except those in repeated calls. */
  readonly eventKeys: string[];
}

interface Catcher {
  readonly caught: Caught;
  readonly smarthost: string;
  /** The URL for webhooks, which also shows the mails in a browser. */
  readonly url: string;
  close(): Promise<void>;
}

export async function openCatcher(onMail: (mail: CaughtMail) => void): Promise<Catcher> {
  const caught: Caught = { mails: [], webhooks: [], webhooksAgain: 0, eventKeys: [] };

  async function takeMail(stream: Readable): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    const parsed = await PostalMime.parse(Buffer.concat(chunks));
    const mail = { subject: parsed.subject ?? '', text: parsed.text ?? '', html: parsed.html ?? '' };
    caught.mails.push(mail);
    onMail(mail);
  }

  const smtp = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    onData(stream, _session, done) {
      takeMail(stream).then(() => done(), done);
    },
  });
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');

  const ids = new Set<unknown>();
  const http = createServer((request, response) => {
    // A client that disconnects halfway does not end the demo.
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      response.setHeader('content-security-policy', CONTENT_POLICY);
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(mailPage(caught.mails, request.url ?? '/'));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const id = request.headers['webhook-id'];
    const isAgain = typeof id === 'string' && ids.has(id);
    if (isAgain) caught.webhooksAgain += 1;
    else if (typeof id === 'string') caught.webhooks.push(id);
    ids.add(id);
    if (!isAgain && request.headers['content-type']?.startsWith('application/cloudevents-batch+json')) {
      const events = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { id: string }[];
      caught.eventKeys.push(...events.map((event) => event.id));
    }
    response.writeHead(204).end();
  }

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');

  return {
    caught,
    smarthost: `127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async close() {
      http.closeAllConnections();
      await Promise.all([
        new Promise<void>((resolve) => http.close(() => resolve())),
        new Promise<void>((resolve) => smtp.close(() => resolve())),
      ]);
    },
  };
}

/** The mails quote the (simulated) service, so nothing in them may run or load. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

function mailPage(mails: readonly CaughtMail[], path: string): string {
  const page = { root: '', nowUs: 0, words: ENGLISH, zone: 'UTC', query: '' };
  const mail = mails[Number(path.slice(1)) - 1];
  if (mail) return mail.html;
  const rows = mails.map(
    ({ subject, text }, index) => html`<li><a href="/${index + 1}">${subject}</a>
<div class="soft small">${firstLine(text)}</div></li>`,
  );
  const list =
    rows.length > 0
      ? html`<ul class="sheet">${rows.toReversed()}</ul>`
      : html`<p class="sheet empty">None yet: the first ones come within seconds.</p>`;
  const body = html`<header><h1>Mails of the demo</h1>
<p class="lead">What the receiver “ops” was sent, the newest first. Reload to see new ones.</p></header>
<main><h2>${howMany(mails.length, 'mail')}</h2>${list}</main>`;
  return String(frame({ title: 'Mails of the demo', tone: 'quiet', body, page, hasNavigation: false }));
}

const firstLine = (text: string) => text.trim().split('\n', 1)[0] ?? '';
