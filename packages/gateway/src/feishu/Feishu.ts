/**
 * Feishu, or Lark, as a chat platform: signed and encrypted webhooks or a long connection, and messages through the platform's library.
 */
import { Effect, Option, Schema } from "effect"
import type { ChatPlatform, Inbound, MessageChange } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import { makeFeishuCall } from "./FeishuApi.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { makeLongConnection } from "./LongConnection.ts"
import { feishuFormValues, normalizeFeishuEvent } from "./Normalization.ts"
import { limits, makeOutbound } from "./Outbound.ts"
import { makeBotId, makeUserLookup } from "./FeishuUsers.ts"
import { makeFeishuVerifier } from "./Verification.ts"
import { PlatformId } from "../platform/PlatformId.ts"

// Recalled messages of Feishu. The platform has no event for an edited message.

const Recalled = Schema.Struct({
  message_id: PlatformId,
  chat_id: PlatformId,
  /** Others than the author, such as the owner of a group, recall what a reader should not see. */
  recall_type: Schema.Literal("message_owner")
})

const asRecalled = Schema.decodeUnknownOption(Schema.fromJsonString(Recalled))

const feishuChangeOf = ({ body }: Pick<Inbound, "body">): MessageChange | undefined =>
  Option.match(asRecalled(body), {
    onNone: () => undefined,
    onSome: ({ chat_id, message_id }) => ({ chatId: chat_id, messageId: message_id, text: undefined })
  })

const ID = "feishu"

const TRY_AGAIN = "This could not be saved. Please click again."

const tryAgain = {
  status: 200,
  body: {
    toast: {
      type: "error",
      content: TRY_AGAIN,
      i18n: { en_us: TRY_AGAIN, zh_cn: "未能保存，请再点击一次。" }
    }
  }
}

const languageOf = (domain: string): keyof LocalizedText =>
  new URL(domain).hostname.endsWith(".feishu.cn") ? "zh" : "en"

/** The platform with one bot. */
export const feishu = (config: FeishuConfig): ChatPlatform => {
  const language = languageOf(config.domain)
  const call = makeFeishuCall(config)
  const botId = makeBotId(call, config.botId)
  return {
    id: ID,
    verify: makeFeishuVerifier(ID, config),
    accepted: { status: 200, body: {} },
    unavailable: (kind) => (kind === "card_action" ? tryAgain : undefined),
    normalize: (inbound) => normalizeFeishuEvent(inbound, botId),
    changeOf: (inbound) => Effect.succeed(feishuChangeOf(inbound)),
    formValues: feishuFormValues,
    limits,
    recognizesKeys: true,
    language,
    ...makeOutbound(call, language),
    person: makeUserLookup(call),
    ...(config.connection === "long" ? { connect: makeLongConnection(ID, config, tryAgain) } : {})
  }
}
