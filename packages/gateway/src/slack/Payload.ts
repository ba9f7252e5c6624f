/**
 * Slack's payloads: the fields that the inbox needs, of events and of clicks on buttons, without other fields; and the markup of their texts: users,
 * channels and links in angle brackets, and three escaped characters.
 */
import { Schema } from "effect"
import { type FormValues, PlatformId } from "../platform/ChatPlatform.ts"

const optionalId = Schema.optionalKey(Schema.NullOr(PlatformId))

/** Type and app of any payload. */
export const Payload = Schema.Struct({
  type: PlatformId,
  api_app_id: Schema.optionalKey(Schema.String)
})

export const SlackUrlVerification = Schema.Struct({
  type: Schema.Literal("url_verification"),
  challenge: Schema.String.check(Schema.isMaxLength(4_096))
})

export const EventCallback = Schema.Struct({
  type: Schema.Literal("event_callback"),
  team_id: PlatformId,
  event_id: PlatformId,
  event: Schema.Record(Schema.String, Schema.Unknown)
})

/** A message or a mention: the fields that decide whether it is for the bot. */
export const SlackMessageEvent = Schema.Struct({
  type: Schema.Literals(["message", "app_mention"]),
  subtype: Schema.optionalKey(Schema.NullOr(Schema.String)),
  bot_id: Schema.optionalKey(Schema.Unknown),
  channel: PlatformId,
  user: Schema.optionalKey(Schema.Unknown),
  channel_type: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const Chosen = Schema.Struct({ value: Schema.String })

/** An input block: one option, several, or a text. */
const InputState = Schema.Struct({
  selected_option: Schema.optionalKey(Schema.NullOr(Chosen)),
  selected_options: Schema.optionalKey(Schema.NullOr(Schema.Array(Chosen))),
  value: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** A click. Only its first action counts. */
export const BlockActions = Schema.Struct({
  type: Schema.Literal("block_actions"),
  team: Schema.Struct({ id: PlatformId }),
  user: Schema.Struct({ id: PlatformId, team_id: optionalId }),
  channel: Schema.optionalKey(Schema.NullOr(Schema.Struct({ id: PlatformId }))),
  container: Schema.optionalKey(Schema.Struct({ message_ts: optionalId, channel_id: optionalId })),
  actions: Schema.NonEmptyArray(
    Schema.Struct({
      action_id: Schema.String.check(Schema.isMaxLength(255)),
      action_ts: PlatformId,
      value: Schema.optionalKey(Schema.Unknown)
    })
  ),
  /** Values of the input blocks of the message, by block and element. */
  state: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({ values: Schema.Record(Schema.String, Schema.Record(Schema.String, InputState)) })
    )
  ),
  /** Secret: allows messages to the user who clicked. Stored with the event only. */
  response_url: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(1_024))))
})
export type BlockActions = typeof BlockActions.Type

/** Chat and message of a click. Absent if the click was not in a message. */
export const cardRefOf = ({ channel, container }: BlockActions) => ({
  chatId: channel?.id ?? container?.channel_id ?? undefined,
  messageId: container?.message_ts ?? undefined
})

const textsOf = ({
  selected_option,
  selected_options,
  value
}: typeof InputState.Type): ReadonlyArray<string> =>
  [
    ...(selected_options ?? []).map((option) => option.value),
    ...(selected_option === undefined || selected_option === null ? [] : [selected_option.value]),
    ...(value === undefined || value === null ? [] : [value])
  ].filter((text) => text !== "")

/** What a click sent in the fields of its card. Each field is a block. */
export const formValuesOf = ({ state }: BlockActions): FormValues => {
  const entries = Object.entries(state?.values ?? {}).map(
    ([name, elements]) => [name, Object.values(elements).flatMap(textsOf)] as const
  )
  return Object.fromEntries(entries.filter(([, texts]) => texts.length > 0))
}

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" }

const unescape = (text: string): string =>
  text.replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity] ?? entity)

/** The content of angle brackets, as a reader sees it. Mentions of `bot` are left out. */
const displayText = (inside: string, bot: string | undefined): string => {
  const [target = "", label = ""] = inside.split("|", 2)
  const sign = target.slice(0, 1)
  const name = label === "" ? target.slice(1) : label.replace(/^[@#]/, "")
  switch (sign) {
    case "@":
      return target.slice(1) === bot ? "" : `@${name}`
    case "#":
      return `#${name}`
    case "!":
      // `<!here>`, `<!subteam^S1|@team>`, `<!date^…|today>`: an unreadable target has a label.
      return label === "" ? `@${name}` : label
    default:
      return label === "" || label === target || target === `mailto:${label}`
        ? label || target
        : `${label} (${target})`
  }
}

/** A message as plain text. Mentions of `bot`, an id, are left out. */
export const removeMarkup = (text: string, bot: string | undefined): string =>
  text
    .replaceAll(/<([^<>]*)>|&(?:amp|lt|gt);/g, (whole: string, inside: string | undefined) =>
      unescape(inside === undefined ? whole : displayText(inside, bot))
    )
    .trim()

/** Plain text, escaped so that nothing in it is a mention, a link or a channel. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
