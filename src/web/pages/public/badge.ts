/**
 * Draws a badge with the name and status of a Nest, as an image for other pages. It loads nothing and needs no style.
 */
import { html } from 'hono/html';
import { plainText } from '../../../text/plain-text.ts';
import type { Html } from '../frame/page-frame.ts';
import type { Words } from '../frame/words.ts';
import type { PublicNest, PublicState } from './public-status.ts';

/** White text has a contrast of at least 4.5 on each. */
const COLOURS: Readonly<Record<PublicState, string>> = {
  well: '#1a7f4b',
  failing: '#c02b2b',
  unknown: '#66717a',
};
const NAME_COLOUR = '#3d454c';

const NAME_LENGTH = 40;
const HEIGHT = 20;
const PADDING = 6;

export function renderBadge({ open }: Words, nest: PublicNest): Html {
  const { state, counts } = nest;
  const name = plainText(nest.name, NAME_LENGTH);
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
