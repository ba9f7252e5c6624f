/** Origin of a platform's API: https, or http on loopback, without a path. */
import { isLoopback } from "@corral/service/Addresses"
import { textMatching } from "@corral/service/settings/SettingSchemas"

export const ApiOrigin = textMatching(
  "an https origin, or an http one on loopback, without a path",
  (text) => {
    const url = URL.parse(text)
    return (
      url?.origin === text &&
      (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)))
    )
  }
)
