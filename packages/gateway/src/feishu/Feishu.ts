/** Feishu, or Lark, as a chat platform: signed and encrypted webhooks, cards that are clicked once. */
import { Effect } from "effect"
import { type ChatPlatform, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { normalize } from "./Normalization.ts"
import { verifierOf } from "./Verification.ts"

const ID = "feishu"

const TRY_AGAIN = "This could not be saved. Please click again."

const tryAgain = {
  toast: {
    type: "error",
    content: TRY_AGAIN,
    i18n: { en_us: TRY_AGAIN, zh_cn: "未能保存，请再点击一次。" }
  }
}

/** One bot. */
export const feishu = (config: FeishuConfig): ChatPlatform => {
  const botId =
    config.botId === undefined
      ? Effect.fail(new PlatformUnavailable({ message: "The bot does not know its own id." }))
      : Effect.succeed(config.botId)
  return {
    id: ID,
    verify: verifierOf(ID, config),
    accepted: { status: 200, body: {} },
    unavailable: (kind) => (kind === "card_action" ? { status: 200, body: tryAgain } : undefined),
    normalize: (inbound) => normalize(inbound, botId)
  }
}
