/** Why the agent's program is unavailable, for users of a chat. */
import type { RuntimeRemedy } from "@corral/domain/run/RuntimeRemedy"
import type { LocalizedText } from "../platform/LocalizedText.ts"

/** The cause that each remedy removes. */
export const runtimeCauses: Readonly<Record<RuntimeRemedy, LocalizedText>> = {
  install: {
    en: "The agent's program is missing on the machine.",
    zh: "机器上没有安装智能体程序。"
  },
  sign_in: {
    en: "The agent's program is not signed in on the machine.",
    zh: "机器上的智能体程序未登录。"
  },
  continue: { en: "The machine restarted during the run.", zh: "运行期间机器重启了。" }
}
