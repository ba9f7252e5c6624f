/**
 * Feishu, or Lark, as a chat platform: signed and encrypted webhooks or a long connection, and messages through the platform's library.
 */
import { Effect } from "effect"
import type { ChatPlatform } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import { feishuChangeOf } from "./Changes.ts"
import { makeFeishuCall } from "./FeishuApi.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { makeLongConnection } from "./LongConnection.ts"
import { feishuFormValues, normalizeFeishuEvent } from "./Normalization.ts"
import { limits, makeOutbound } from "./Outbound.ts"
import { makeBotId, makeUserLookup } from "./FeishuUsers.ts"
import { makeFeishuVerifier } from "./Verification.ts"

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
