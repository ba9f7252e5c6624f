/**
 * A card as Slack's Block Kit: a header, a section for each line, the buttons. Texts are plain, so that no word of them is markup; a button
 * carries nothing but its opaque id, and one that opens an address carries that.
 */
import type { KnownBlock } from "@slack/web-api"
import type { Card, CardButton, Tone } from "../platform/Card.ts"
import { type Words, wordsIn } from "../platform/Words.ts"
import { escaped } from "./Markup.ts"

/** What Slack takes, counted in characters of the escaped text. */
const HEADER_MAX = 150
export const SECTION_MAX = 3_000
const BUTTON_MAX = 75
const BUTTONS_MAX = 25
/** Of 50 blocks, with room for the header and the buttons. */
const SECTIONS_MAX = 45

const signs: Readonly<Record<Tone, string>> = {
  neutral: "",
  running: "⏳ ",
  attention: "⚠️ ",
  good: "✅ ",
  bad: "❌ "
}

/** A text in parts of up to `most` characters, escaped; no part is empty, and no character is cut in two. */
export const splitText = (text: string, most: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let part = ""
  for (const character of text.toWellFormed()) {
    const next = escaped(character)
    if (part.length + next.length > most) {
      parts.push(part)
      part = ""
    }
    part += next
  }
  return [...parts, part].filter((each) => each.trim() !== "")
}

/** Slack takes no empty text. */
const plain = (text: string, most: number) => ({
  type: "plain_text" as const,
  text: splitText(text, most)[0] ?? "–",
  emoji: false
})

const button = (each: CardButton, at: number, language: keyof Words) => {
  const text = plain(wordsIn(each.label, language), BUTTON_MAX)
  // Slack wants ids that differ within a block, and makes some up otherwise.
  if (each._tag === "Link") return { type: "button" as const, action_id: `link-${at}`, text, url: each.url }
  return {
    type: "button" as const,
    action_id: `action-${at}`,
    text,
    value: each.actionId,
    ...(each.style === "plain" ? {} : { style: each.style })
  }
}

/** `text` is what notifications and screen readers have instead of the blocks. */
export const toBlocks = (
  card: Card,
  language: keyof Words
): { readonly text: string; readonly blocks: Array<KnownBlock> } => {
  const title = wordsIn(card.title, language)
  const lines = card.lines.map((line) => wordsIn(line, language))
  const sections = lines.flatMap((line) => splitText(line, SECTION_MAX)).slice(0, SECTIONS_MAX)
  const buttons = card.buttons.slice(0, BUTTONS_MAX).map((each, at) => button(each, at, language))
  return {
    text: splitText([title, ...lines].join("\n"), SECTION_MAX)[0] ?? "–",
    blocks: [
      { type: "header", text: plain(signs[card.tone] + title, HEADER_MAX) },
      ...sections.map((text) => ({
        type: "section" as const,
        text: { type: "plain_text" as const, text, emoji: false }
      })),
      ...(buttons.length === 0 ? [] : [{ type: "actions" as const, elements: buttons }])
    ]
  }
}
