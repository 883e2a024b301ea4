/**
 * Serves the only pages that everybody may see even if `web.auth` is set, and the badge that any page may show. Nothing else is
 * under `/public/`, and nothing here writes.
 *
 * Of a Nest everybody may know its name, its and its Birds' status and since when, and what was noted for everybody. Errors, ids,
 * people and all other Nests are left out. The store is read at most once a minute for each public Nest, however many people ask.
 */
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { isPublicNest, type PublicStatusConfig } from '../../../config/sections/web-section.ts';
import { MAX_NOTE_LENGTH, type Note } from '../../../domain/alert/alert.ts';
import type { HealthAnswer } from '../../../health/health.ts';
import type { Impairment } from '../../../health/impairment.ts';
import { LIMITS } from '../../../limits.ts';
import type { BirdOverview } from '../../../store/bird-store.ts';
import type { Store, Transaction } from '../../../store/store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Clock } from '../../../time/clock.ts';
import { kept } from '../../bounded-work.ts';
import type { StatusView } from '../../web-options.ts';
import { lineItem } from '../frame/items.ts';
import { type Html, type Page, pageOf, withWords } from '../frame/page.ts';
import { frame, when } from '../frame/page-frame.ts';
import { saidInLines, type Tone } from '../frame/page-words.ts';
import { ENGLISH, type Words } from '../frame/words.ts';

/** `unknown`: the watch is interrupted. `late`: it goes on, but what it reads is old. */
type PublicState = 'well' | 'failing' | 'late' | 'unknown';

interface PublicBird {
  readonly name: string;
  readonly state: 'well' | 'failing' | 'off';
  /** Of a failing Bird; 0 if unknown. */
  readonly sinceUs: number;
}

interface PublicNest {
  readonly name: string;
  readonly state: PublicState;
  /** Of a Nest that is not well; 0 if unknown. */
  readonly sinceUs: number;
  readonly counts: { readonly well: number; readonly failing: number; readonly off: number };
  /** Of what fires, newest first; without who wrote them. */
  readonly notes: readonly Pick<Note, 'text' | 'atUs'>[];
  /** Failing ones first; absent if Birds are only counted. */
  readonly birds?: readonly PublicBird[];
}

interface Options {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly impairments: () => Promise<HealthAnswer>;
  readonly clock: Clock;
}

/** Undefined for a Nest that is not public or does not exist. */
type PublicStatus = (region: string, nestId: string) => Promise<PublicNest | undefined>;

/** How long an answer is cached. */
const KEPT_SECONDS = 60;
const KEPT_MS = KEPT_SECONDS * 1000;
const NAME_LENGTH = 80;
const SHOWN_NOTES = 10;
const LATE = 'streams_overdue';
/** Impairments that make the status of Birds unknown. It is still known if only notifications fail. */
const BLINDING = new Set([
  'store_failing',
  'region_unauthorized',
  'region_down',
  'inventory_failing',
  LATE,
  'first_pass',
]);

export function createPublicStatus(config: PublicStatusConfig, options: Options): PublicStatus {
  const { store, status, clock } = options;
  const listed = kept(clock, KEPT_MS, async () => {
    const regions = status().regions.map(({ region }) => region);
    return store.transaction(async (tx) => {
      const all = await Promise.all(regions.map((region) => tx.inventory.nests(region)));
      const open = all
        .flat()
        .filter(({ present, name, nestId }) => present && isPublicNest(config, name, nestId));
      const some = open.slice(0, LIMITS.public_nests.most);
      return new Map(
        some.map((nest) => [
          keyOf(nest.region, nest.nestId),
          {
            name: nest.name,
            read: kept(clock, KEPT_MS, () =>
              store.transaction((tx) => readNest(tx, nest, config, clock.nowUs())),
            ),
          },
        ]),
      );
    });
  });

  return async (region, nestId) => {
    const nest = (await listed()).get(keyOf(region, nestId));
    if (!nest) return undefined;
    const { impairments } = await options.impairments();
    const blinding = impairments.filter((one) => isBlind(one, region));
    const blind = blinding.find(({ reason }) => reason !== LATE) ?? blinding[0];
    const view = await nest.read();
    if (!blind) return view;
    return { ...view, state: blind.reason === LATE ? 'late' : 'unknown', sinceUs: blind.sinceUs };
  };
}

const keyOf = (region: string, nestId: string) => JSON.stringify([region, nestId]);

function isBlind({ reason, region, stopsHeartbeat }: Impairment, here: string): boolean {
  return stopsHeartbeat && BLINDING.has(reason) && (region === undefined || region === here);
}

async function readNest(
  tx: Transaction,
  { region, nestId, name }: { readonly region: string; readonly nestId: string; readonly name: string },
  { hasNames }: PublicStatusConfig,
  nowUs: number,
): Promise<PublicNest> {
  const own = await birdsOf(tx, region, nestId);
  const firing = { region, nest: nestId, state: 'firing', order: 'newest', nowUs, limit: 1_000 } as const;
  const { alerts } = await tx.alerts.page(firing);
  const begins = new Map<string, number>();
  for (const { labels, startsAtUs } of alerts) {
    if (labels.nest_id !== nestId || !labels.bird_id) continue;
    begins.set(labels.bird_id, Math.min(startsAtUs, begins.get(labels.bird_id) ?? startsAtUs));
  }
  const shown = own.map((bird) => publicBird(bird, begins.get(bird.birdId)));
  const count = (state: PublicBird['state']) => shown.filter((bird) => bird.state === state).length;
  const counts = { well: count('well'), failing: count('failing'), off: count('off') };
  const sinces = shown.flatMap(({ state, sinceUs }) => (state === 'failing' && sinceUs > 0 ? [sinceUs] : []));
  return {
    name: plainText(name, NAME_LENGTH) || 'Nest',
    state: counts.failing > 0 ? 'failing' : 'well',
    sinceUs: sinces.length > 0 ? Math.min(...sinces) : 0,
    counts,
    notes: (await tx.notes.publicOf(region, nestId, SHOWN_NOTES)).map(({ text, atUs }) => ({ text, atUs })),
    ...(hasNames && { birds: shown.slice(0, LIMITS.public_birds.most) }),
  };
}

/** All Birds of the Nest, failing ones first. */
async function birdsOf(tx: Transaction, region: string, nestId: string): Promise<BirdOverview[]> {
  const own: BirdOverview[] = [];
  let cursor: string | undefined;
  do {
    const page = await tx.birds.page({ regions: [region], nest: nestId, limit: 1_000, cursor });
    // The filter accepts an id or part of a name, so other Nests may match.
    own.push(...page.birds.filter((bird) => bird.nestId === nestId));
    cursor = page.next;
    await tx.pause();
  } while (cursor !== undefined);
  return own;
}

function publicBird({ name, standing, last }: BirdOverview, alertSinceUs: number | undefined): PublicBird {
  const isFailing = standing === 'alerting' || standing === 'failing';
  return {
    name: plainText(name, NAME_LENGTH) || 'Bird',
    state: isFailing ? 'failing' : standing,
    sinceUs: isFailing ? (alertSinceUs ?? last?.startedAtUs ?? 0) : 0,
  };
}

declare module 'hono' {
  interface ContextVariableMap {
    /** Whether the answer is public, and may be cached and embedded anywhere. */
    isPublic: boolean;
  }
}

/** Replaces the headers of other answers. */
export const PUBLIC_HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', `public, max-age=${KEPT_SECONDS}`],
  ['cross-origin-resource-policy', 'cross-origin'],
];

export function createPublicPages(config: PublicStatusConfig, options: Options): Hono {
  const pages = new Hono();
  const statusOf = createPublicStatus(config, options);
  pages.use(withWords(ENGLISH));

  const nestOf = (c: Context) => statusOf(c.req.param('region') ?? '', c.req.param('nest') ?? '');
  const nothing = (c: Context) => c.text('There is no public Nest at this address.\n', 404);

  pages.get('/:region/:nest', async (c) => {
    const nest = await nestOf(c);
    if (!nest) return nothing(c);
    c.set('isPublic', true);
    // Its times are in the zone of the reader's cookie.
    c.header('vary', 'Cookie');
    return c.html(renderPublicPage(pageOf(c, options.clock), nest));
  });

  pages.get('/:region/:nest/badge.svg', async (c) => {
    const nest = await nestOf(c);
    if (!nest) return nothing(c);
    c.set('isPublic', true);
    const svg = await renderBadge(ENGLISH, nest);
    return c.body(svg.toString(), 200, { 'content-type': 'image/svg+xml; charset=utf-8' });
  });

  return pages;
}

/** White text has a contrast of at least 4.5 on each. */
const COLOURS: Readonly<Record<PublicState, string>> = {
  well: '#1a7f4b',
  failing: '#c02b2b',
  late: '#66717a',
  unknown: '#66717a',
};
const NAME_COLOUR = '#3d454c';

const BADGE_NAME_LENGTH = 40;
const HEIGHT = 20;
const PADDING = 6;

function renderBadge({ open }: Words, nest: PublicNest): Html {
  const { state, counts } = nest;
  const name = plainText(nest.name, BADGE_NAME_LENGTH);
  const total = counts.well + counts.failing + counts.off;
  const said = state === 'failing' ? open.badgeFailing(counts.failing, total) : open.badge[state];
  const [left, right] = [widthOf(name), widthOf(said)];
  const title = `${name}: ${said}`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${HEIGHT}" role="img" aria-label="${title}">
<title>${title}</title>
<rect width="${left}" height="${HEIGHT}" fill="${NAME_COLOUR}"/>
<rect x="${left}" width="${right}" height="${HEIGHT}" fill="${COLOURS[state]}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
${label(name, PADDING, left)}
${label(said, left + PADDING, right)}
</g>
</svg>
`;
}

/** The text is stretched to its computed width, whatever the font. */
function label(text: string, x: number, width: number): Html {
  return html`<text x="${x}" y="14" textLength="${width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">${text}</text>`;
}

/** Roughly the width in Verdana. Characters of other scripts, and emoji, are as wide as they are high. */
function widthOf(text: string): number {
  const points = [...text];
  const wide = points.filter((point) => point > '\u2E7F').length;
  return Math.ceil((points.length - wide) * 6.6 + wide * 11) + 2 * PADDING;
}

const TONES: Readonly<Record<PublicState | PublicBird['state'], Tone>> = {
  well: 'good',
  failing: 'bad',
  late: 'warn',
  unknown: 'warn',
  off: 'quiet',
};

function renderPublicPage(page: Page, nest: PublicNest): Html {
  const { words } = page;
  const { name, state, sinceUs, counts, birds } = nest;
  const tone = TONES[state];
  const headline = words.open.states[state];
  const since = sinceUs > 0 ? html` · ${words.alert.began} ${when(page, sinceUs)}` : '';
  return frame({
    title: `${name}: ${headline}`,
    tone,
    page,
    hasNavigation: false,
    isLive: true,
    refreshSeconds: KEPT_SECONDS,
    body: html`<header>
<p class="brand"><b><bdi>${name}</bdi></b></p>
<h1 class="text ${tone}">${headline}</h1>
<p class="lead">${words.open.counts(counts)}${since}</p>
</header>
<main id="main">
${state === 'unknown' || state === 'late' ? html`<p class="notice">${words.open.lastKnown[state]}</p>` : ''}
${notesOf(page, nest)}
${birds ? listOf(page, birds, nest) : ''}
</main>`,
  });
}

function notesOf(page: Page, { notes }: PublicNest): Html | string {
  if (notes.length === 0) return '';
  const rows = notes.map(({ text, atUs }) =>
    lineItem(html`<p class="note">${saidInLines(text, MAX_NOTE_LENGTH)}</p>`, when(page, atUs)),
  );
  return html`<h2>${page.words.open.notes}</h2>
<ul class="sheet">${rows}</ul>`;
}

function listOf(page: Page, birds: readonly PublicBird[], { counts }: PublicNest): Html {
  const { open } = page.words;
  const more = counts.well + counts.failing + counts.off - birds.length;
  const rows = birds.map(
    ({
      name,
      state,
      sinceUs,
    }) => html`<li><span class="pill ${TONES[state]}">${open.birds[state]}</span> <bdi>${name}</bdi>
${sinceUs > 0 ? html`<span class="small soft">${page.words.alert.began} ${when(page, sinceUs)}</span>` : ''}</li>`,
  );
  return html`<h2>${page.words.frame.birds}</h2>
<ul class="sheet">${rows}</ul>
${more > 0 ? html`<p class="small soft">${open.more(more)}</p>` : ''}`;
}
