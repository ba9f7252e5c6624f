/**
 * Card as Slack's Block Kit: a header, a section per line, the fields, and the buttons. Texts are plain, so none is read as markup. A button contains
 * only its opaque id, or the address that it opens.
 */
import { safeText } from "@corral/domain/text/SafeText"
import type { KnownBlock } from "@slack/web-api"
import {
  type Card,
  type CardButton,
  type CardField,
  type LocalizedText,
  type Tone,
  localizedTextIn
} from "../platform/ChatPlatform.ts"
import { escapeMarkup } from "./Payload.ts"

/** Slack's limits, in characters of the escaped text. */
const HEADER_MAX = 150
export const SECTION_MAX = 3_000
const BUTTON_MAX = 75
const BUTTONS_MAX = 25
/** Slack's limit is 50 blocks, with the header and the buttons. */
const SECTIONS_MAX = 45
const LABEL_MAX = 2_000
const OPTIONS_MAX = 100

const signs: Readonly<Record<Tone, string>> = {
  neutral: "",
  running: "⏳ ",
  attention: "⚠️ ",
  good: "✅ ",
  bad: "❌ "
}

/** An escaped text in parts of up to `max` characters. No part is empty, and no character is split. */
export const splitText = (text: string, max: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let part = ""
  for (const character of safeText(text.toWellFormed())) {
    const next = escapeMarkup(character)
    if (part.length + next.length > max) {
      parts.push(part)
      part = ""
    }
    part += next
  }
  return [...parts, part].filter((each) => each.trim() !== "")
}

/** A text object. Slack rejects an empty text. */
const plain = (text: string, max: number) => ({
  type: "plain_text" as const,
  text: splitText(text, max)[0] ?? "–",
  emoji: false
})

const button = (each: CardButton, at: number, language: keyof LocalizedText) => {
  const text = plain(localizedTextIn(each.label, language), BUTTON_MAX)
  // Slack requires ids that are unique within a block.
  if (each._tag === "Link") return { type: "button" as const, action_id: `link-${at}`, text, url: each.url }
  return {
    type: "button" as const,
    action_id: `action-${at}`,
    text,
    value: each.actionId,
    ...(each.style === "plain" ? {} : { style: each.style })
  }
}

/** A field. No change of it is sent before a button is clicked. */
const field = (each: CardField, language: keyof LocalizedText) => {
  const block = {
    type: "input" as const,
    block_id: each.name,
    optional: true,
    dispatch_action: false,
    label: plain(localizedTextIn(each.label, language), LABEL_MAX)
  }
  if (each._tag === "Text")
    return {
      ...block,
      element: {
        type: "plain_text_input" as const,
        action_id: "value",
        multiline: true,
        max_length: SECTION_MAX
      }
    }
  const options = each.options.slice(0, OPTIONS_MAX).map(({ label, value }) => ({
    text: plain(localizedTextIn(label, language), BUTTON_MAX),
    value
  }))
  return {
    ...block,
    element: each.multiple
      ? { type: "multi_static_select" as const, action_id: "value", options }
      : { type: "static_select" as const, action_id: "value", options }
  }
}

/** `text` is for notifications and screen readers, which do not show blocks. */
export const toBlocks = (
  card: Card,
  language: keyof LocalizedText
): { readonly text: string; readonly blocks: Array<KnownBlock> } => {
  const title = localizedTextIn(card.title, language)
  const lines = card.lines.map((line) => localizedTextIn(line, language))
  const fields = (card.fields ?? []).slice(0, SECTIONS_MAX).map((each) => field(each, language))
  const sections = lines
    .flatMap((line) => splitText(line, SECTION_MAX))
    .slice(0, SECTIONS_MAX - fields.length)
  const buttons = card.buttons.slice(0, BUTTONS_MAX).map((each, at) => button(each, at, language))
  return {
    text: splitText([title, ...lines].join("\n"), SECTION_MAX)[0] ?? "–",
    blocks: [
      { type: "header", text: plain(signs[card.tone] + title, HEADER_MAX) },
      ...sections.map((text) => ({
        type: "section" as const,
        text: { type: "plain_text" as const, text, emoji: false }
      })),
      ...fields,
      ...(buttons.length === 0 ? [] : [{ type: "actions" as const, elements: buttons }])
    ]
  }
}
