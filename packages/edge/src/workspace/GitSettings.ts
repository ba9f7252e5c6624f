/**
 * Settings in the text of a git configuration file, read without git. Pure, and linear in the text.
 *
 * Does not: follow `include`, or refuse a text that git refuses. What follows a mistake is read as well as possible.
 */

export interface GitSetting {
  /** In lower case. */
  readonly section: string
  /** As written. */
  readonly subsection: string | undefined
  /** In lower case. */
  readonly key: string
  /** `undefined` for a key without a value, which stands for `true`. */
  readonly value: string | undefined
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b" }

class SettingsReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n")
  }

  read(): ReadonlyArray<GitSetting> {
    const settings: Array<GitSetting> = []
    let [section, subsection] = ["", undefined as string | undefined]
    for (let char = this.#skip(); char !== ""; char = this.#skip()) {
      if (char === "[") [section, subsection] = this.#heading()
      else if (/[a-z]/i.test(char)) settings.push({ section, subsection, ...this.#entry() })
      else this.#endLine()
    }
    return settings
  }

  get #char(): string {
    return this.#text.charAt(this.#at)
  }

  /** Skips blanks and comments. The next character; empty at the end. */
  #skip(): string {
    for (;;) {
      while (/\s/.test(this.#char)) this.#at++
      if (this.#char !== "#" && this.#char !== ";") return this.#char
      this.#endLine()
    }
  }

  #endLine(): void {
    const end = this.#text.indexOf("\n", this.#at)
    this.#at = end === -1 ? this.#text.length : end + 1
  }

  #takeWhile(isPart: (char: string) => boolean): string {
    const start = this.#at
    while (this.#char !== "" && isPart(this.#char)) this.#at++
    return this.#text.slice(start, this.#at)
  }

  /** `[section]`, `[section "Subsection"]` or the old `[section.subsection]`. */
  #heading(): [string, string | undefined] {
    this.#at++
    const name = this.#takeWhile((char) => /[^\]\s"]/.test(char)).toLowerCase()
    this.#takeWhile((char) => char === " " || char === "\t")
    let subsection: string | undefined
    if (this.#char === '"') subsection = this.#quoted()
    this.#takeWhile((char) => char !== "]" && char !== "\n")
    this.#at++
    const dot = name.indexOf(".")
    return subsection === undefined && dot !== -1
      ? [name.slice(0, dot), name.slice(dot + 1)]
      : [name, subsection]
  }

  #quoted(): string {
    let text = ""
    for (this.#at++; /[^"\n]/.test(this.#char); this.#at++) {
      if (this.#char === "\\") this.#at++
      text += this.#char
    }
    this.#at++
    return text
  }

  #entry(): Pick<GitSetting, "key" | "value"> {
    const key = this.#takeWhile((char) => /[a-z0-9-]/i.test(char)).toLowerCase()
    this.#takeWhile((char) => char === " " || char === "\t")
    if (this.#char !== "=") {
      this.#endLine()
      return { key, value: undefined }
    }
    this.#at++
    return { key, value: this.#value() }
  }

  #value(): string {
    let [value, length, isQuoted] = ["", 0, false]
    this.#takeWhile((char) => char === " " || char === "\t")
    for (; this.#char !== "" && this.#char !== "\n"; this.#at++) {
      const char = this.#char
      if (char === '"') isQuoted = !isQuoted
      else if (char === "\\") {
        this.#at++
        const escaped = this.#char
        if (escaped !== "\n") value += ESCAPES[escaped] ?? escaped
      } else if (!isQuoted && (char === "#" || char === ";")) {
        this.#endLine()
        return value.slice(0, length)
      } else value += char
      // Blanks at the end count only in quotes.
      if (isQuoted || !/\s/.test(char)) length = value.length
    }
    return value.slice(0, length)
  }
}

/** The settings in their order. */
export const gitSettings = (text: string): ReadonlyArray<GitSetting> => new SettingsReader(text).read()

/** The text of a configuration file. */
export const settingsText = (settings: ReadonlyArray<GitSetting>): string =>
  settings
    .map(({ key, section, subsection, value }) => {
      const heading = subsection === undefined ? section : `${section} "${escaped(subsection)}"`
      return `[${heading}]\n\t${key}${value === undefined ? "" : ` = "${escaped(value)}"`}\n`
    })
    .join("")

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
