/**
 * A card as the Gateway means it; each platform draws it in its own way. A button carries nothing but an opaque id, or an address of the Hub.
 *
 * Texts are plain, as in a message.
 */
import type { Words } from "./Words.ts"

/** How it goes: platforms have a colour or a sign for each. */
export type Tone = "neutral" | "running" | "attention" | "good" | "bad"

export type CardButton =
  | {
      readonly _tag: "Action"
      readonly label: Words
      readonly actionId: string
      readonly style: "primary" | "danger" | "plain"
    }
  | { readonly _tag: "Link"; readonly label: Words; readonly url: string }

export interface Card {
  /** Of whom it is for: where a platform shows one language to everybody. */
  readonly language?: keyof Words | undefined
  readonly title: Words
  readonly tone: Tone
  readonly lines: ReadonlyArray<Words>
  readonly buttons: ReadonlyArray<CardButton>
}
