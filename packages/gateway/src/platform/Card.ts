/**
 * Card, independent of the platform that draws it, with its texts in each language of the Gateway. A button contains only an opaque id, or an
 * address of the Hub. Texts are plain.
 */

/** A text in each language of the Gateway. A platform whose clients choose the language receives all. */
export interface LocalizedText {
  readonly en: string
  readonly zh: string
}

/** A text that is the same in every language, such as a name or a number. */
export const sameInAllLanguages = (text: string): LocalizedText => ({ en: text, zh: text })

export const localizedTextIn = (words: LocalizedText, language: keyof LocalizedText): string =>
  words[language]

/** State of the card's subject. Platforms show it as a colour or a sign. */
export type Tone = "neutral" | "running" | "attention" | "good" | "bad"

export type CardButton =
  | {
      readonly _tag: "Action"
      readonly label: LocalizedText
      readonly actionId: string
      readonly style: "primary" | "danger" | "plain"
      /** Whether the click sends the fields of the card. */
      readonly submits?: boolean
    }
  | { readonly _tag: "Link"; readonly label: LocalizedText; readonly url: string }

/** Field of a card. Nothing is selected or filled in advance. `name` is unique in the card. */
export type CardField =
  | {
      readonly _tag: "Select"
      readonly name: string
      readonly label: LocalizedText
      readonly options: ReadonlyArray<{ readonly value: string; readonly label: LocalizedText }>
      readonly multiple: boolean
    }
  | { readonly _tag: "Text"; readonly name: string; readonly label: LocalizedText }

/** What a person entered in the fields of a card, by name. A field without a value is absent. */
export type FormValues = Readonly<Record<string, ReadonlyArray<string>>>

export interface Card {
  /** Language of the reader, for platforms that show one language to all readers. */
  readonly language?: keyof LocalizedText | undefined
  readonly title: LocalizedText
  readonly tone: Tone
  readonly lines: ReadonlyArray<LocalizedText>
  readonly fields?: ReadonlyArray<CardField>
  readonly buttons: ReadonlyArray<CardButton>
}
