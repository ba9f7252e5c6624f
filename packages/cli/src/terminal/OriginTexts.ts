/** Where a decision or an answer was made, as the end of a sentence. */
import type { DecisionOrigin } from "@corral/domain/approval/Approval"

export const originTexts: Readonly<Record<DecisionOrigin, string>> = {
  console: " in the console",
  terminal: " in a terminal",
  chat: " in a chat",
  editor: " in an editor",
  policy: ""
}
