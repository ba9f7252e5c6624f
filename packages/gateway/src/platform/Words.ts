/** What the Gateway says, in each of its languages. A platform whose clients choose among languages is given all. */
export interface Words {
  readonly en: string
  readonly zh: string
}

/** The same in every language: a name, a number. */
export const plainly = (text: string): Words => ({ en: text, zh: text })

export const wordsIn = (words: Words, language: keyof Words): string => words[language]
