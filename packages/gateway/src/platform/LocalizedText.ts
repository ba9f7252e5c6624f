/** A text in each language of the Gateway. A platform whose clients choose the language receives all. */
export interface LocalizedText {
  readonly en: string
  readonly zh: string
}

/** A text that is the same in every language, such as a name or a number. */
export const sameInAllLanguages = (text: string): LocalizedText => ({ en: text, zh: text })

export const localizedTextIn = (words: LocalizedText, language: keyof LocalizedText): string =>
  words[language]
