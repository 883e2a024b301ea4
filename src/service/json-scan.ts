/**
 * Scans the text of JSON without parsing it, to find where its values begin and end. It checks no more than it needs
 * for that: whether what lies between is JSON shows when it is parsed.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const LETTER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** How much is scanned at once, within a few milliseconds. */
const STRETCH = 512 * 1024;

/** No number needs more digits than this, and the time to parse one grows with the square of its length. */
const LONGEST_WORD = 1_000;

export class JsonScan {
  readonly text: string;
  /** The position of the scan. */
  at = 0;
  /** The depth in the value that is being passed over. */
  #depth = 0;
  #values = 0;
  #inText = false;

  constructor(text: string) {
    this.text = text;
  }

  /** Passes over white space, one stretch at a time. Returns whether all of it is passed. */
  passSomeSpace(): boolean {
    const stop = this.at + STRETCH;
    while (this.at < stop) {
      if (!isSpace(this.text.charCodeAt(this.at))) return true;
      this.at += 1;
    }
    return false;
  }

  /**
   * Passes over a text, one stretch at a time. Returns that stretch, which cuts no escape in two, and whether the text
   * ends with it. Throws `SyntaxError` if the text has no end.
   */
  passSomeText(): { readonly part: string; readonly isEnd: boolean } {
    if (!this.#inText) {
      this.#inText = true;
      this.at += 1;
    }
    const from = this.at;
    this.#passText(from + STRETCH);
    const isEnd = !this.#inText;
    return { part: this.text.slice(from, isEnd ? this.at - 1 : this.at), isEnd };
  }

  /** Passes over a number, `true`, `false` or `null`, and returns it. */
  passWord(): string {
    const from = this.at;
    while (!isEndOfWord(this.text.charCodeAt(this.at))) {
      this.at += 1;
      if (this.at - from > LONGEST_WORD) throw new SyntaxError('a number has too many digits');
    }
    if (this.at === from) throw new SyntaxError('a value is missing');
    return this.text.slice(from, this.at);
  }

  /**
   * Passes over one value, one stretch of the text at a time. Once it is passed, returns how many values it contains,
   * including itself and keys; undefined before. Throws `SyntaxError` if the text ends before the value does.
   */
  passSome(): number | undefined {
    const stop = this.at + STRETCH;
    while (this.at < stop) {
      const unit = this.text.charCodeAt(this.at);
      if (this.#inText) this.#passText(stop);
      else if (Number.isNaN(unit)) throw new SyntaxError('the JSON ends too early');
      else if (isSpace(unit)) this.at += 1;
      else this.#passMark(unit);
      if (this.#isPassed()) {
        const values = this.#values;
        this.#values = 0;
        return values;
      }
    }
    return undefined;
  }

  #isPassed(): boolean {
    return this.#depth === 0 && !this.#inText && this.#values > 0;
  }

  /** Passes over a bracket, a comma, a colon, a whole word, or the beginning of a text. */
  #passMark(unit: number): void {
    if (unit === COMMA || unit === COLON) {
      if (this.#depth === 0) throw new SyntaxError('a value is missing');
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) {
      if (this.#depth === 0) throw new SyntaxError('a value is missing');
      this.#depth -= 1;
    } else {
      this.#values += 1;
      if (unit === OPEN_LIST || unit === OPEN_OBJECT) this.#depth += 1;
      else if (unit === QUOTE) this.#inText = true;
      else {
        this.passWord();
        return;
      }
    }
    this.at += 1;
  }

  #passText(stop: number): void {
    for (; this.at < stop; this.at += 1) {
      const unit = this.text.charCodeAt(this.at);
      if (unit === QUOTE) {
        this.#inText = false;
        this.at += 1;
        return;
      }
      if (Number.isNaN(unit)) throw new SyntaxError('a text has no end');
      if (unit === BACKSLASH) this.at += this.text.charCodeAt(this.at + 1) === LETTER_U ? 5 : 1;
    }
  }
}

function isEndOfWord(unit: number): boolean {
  const isMark =
    unit === COMMA || unit === COLON || unit === QUOTE || unit === CLOSE_LIST || unit === CLOSE_OBJECT;
  return isMark || unit === OPEN_LIST || unit === OPEN_OBJECT || isSpace(unit) || Number.isNaN(unit);
}

/** White space by RFC 8259, section 2. */
function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
