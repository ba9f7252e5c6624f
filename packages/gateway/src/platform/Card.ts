/**
 * Card, independent of the platform that draws it. A button contains only an opaque id, or an address of the Hub. Texts are plain.
 */
import type { LocalizedText } from "./LocalizedText.ts"

/** State of the card's subject. Platforms show it as a colour or a sign. */
export type Tone = "neutral" | "running" | "attention" | "good" | "bad"

export type CardButton =
  | {
      readonly _tag: "Action"
      readonly label: LocalizedText
      readonly actionId: string
      readonly style: "primary" | "danger" | "plain"
    }
  | { readonly _tag: "Link"; readonly label: LocalizedText; readonly url: string }

export interface Card {
  /** Language of the reader, for platforms that show one language to all readers. */
  readonly language?: keyof LocalizedText | undefined
  readonly title: LocalizedText
  readonly tone: Tone
  readonly lines: ReadonlyArray<LocalizedText>
  readonly buttons: ReadonlyArray<CardButton>
}
