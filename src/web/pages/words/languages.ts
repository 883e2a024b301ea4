/** Chooses the language of a page: the one that the reader chose, or else the first that the browser asks for. */
import type { Context, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { parseAccept } from 'hono/utils/accept';
import { ENGLISH, type Words } from './english.ts';
import { GERMAN } from './german.ts';

/** By the tag used in `lang` and `Accept-Language`. The first is the default. */
export type Languages = ReadonlyMap<string, Words>;

export const LANGUAGES: Languages = new Map([ENGLISH, GERMAN].map((words) => [words.language, words]));

const COOKIE = 'nestwatch_lang';
const YEAR_SECONDS = 31_536_000;

declare module 'hono' {
  interface ContextVariableMap {
    /** The words in the language of the page. */
    words: Words;
    /** All available languages. */
    languages: Languages;
  }
}

/** Determines the language of every page, and stores the choice `?lang=de`. */
export function addLanguages(pages: Hono, languages: Languages): void {
  pages.use(async (c, next) => {
    const chosen = c.req.query('lang');
    if (chosen !== undefined && c.req.method === 'GET' && !c.req.path.startsWith('/api/')) {
      if (languages.has(chosen)) keep(c, chosen);
      return c.redirect(withoutChoice(c), 303);
    }
    const words = wordsFor(languages, getCookie(c, COOKIE), c.req.header('accept-language'));
    c.set('words', words);
    c.set('languages', languages);
    await next();
    if (c.res.headers.get('content-type')?.startsWith('text/html')) {
      c.header('content-language', words.language);
      c.header('vary', 'accept-language, cookie', { append: true });
    }
    return;
  });
}

export function wordsFor(
  languages: Languages,
  chosen: string | undefined,
  accepted: string | undefined,
): Words {
  const asked = parseAccept(accepted ?? '').filter(({ q }) => q > 0);
  const tags = asked.map(({ type }) => type.toLowerCase().split('-')[0]!);
  const tag = [chosen ?? '', ...tags].find((one) => languages.has(one));
  const [first] = languages.values();
  return languages.get(tag ?? '') ?? first!;
}

/** For the whole host, since behind a proxy the path that people see is unknown here. */
function keep(c: Context, language: string): void {
  setCookie(c, COOKIE, language, { path: '/', maxAge: YEAR_SECONDS, sameSite: 'Lax', httpOnly: true });
}

/** The same address without the choice. It is relative, so that it also works under a proxy's path. */
function withoutChoice(c: Context): string {
  const { pathname, searchParams } = new URL(c.req.url);
  searchParams.delete('lang');
  const query = searchParams.toString();
  return `./${pathname.split('/').at(-1)}${query && `?${query}`}`;
}
