/**
 * Additional rules: formats that gitleaks lacks or matches more strictly, and secrets that follow a name.
 *
 * A format is looser here than in a scanner of repositories. In a transcript, a missed key costs more than a false positive.
 */
import { commandRules } from "./commandRules.ts"
import { hasDigit, hasDigitAndLetter, isKeyText, isNoWord, type SecretRule } from "./SecretRule.ts"

/** What follows `sk-` in names of styles and packages has words alone; a key has a long run that mixes, or both cases and digits. */
const isServiceKey = (secret: string): boolean =>
  hasDigit(secret) && (/[A-Z]/.test(secret) || /[a-z0-9]{16}/.test(secret))

const isWebToken = (secret: string): boolean => /^[\w-]{11,}\.[\w-]{8,}\.[\w-]{8,}/.test(secret)

/** Values in documents that describe a password and are not one. */
const isNoDescription = (secret: string): boolean =>
  !/\s/.test(secret) &&
  !/^(?:string|password|passwd|secret|token|required|optional|redacted|undefined|hidden)$/i.test(secret)

const botOfDiscord = String.raw`[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`

/** Keys with a recognizable beginning. */
const form = (prefix: string, rest: string, isSecret?: (secret: string) => boolean): SecretRule => ({
  id: prefix,
  keywords: [prefix.toLowerCase()],
  pattern: `(?<secret>${prefix.replaceAll(/[./]/g, String.raw`\$&`)}${rest})`,
  ...(isSecret === undefined ? {} : { isSecret })
})

const forms: ReadonlyArray<SecretRule> = [
  form("sk-", "[A-Za-z0-9_-]{16,}", isServiceKey),
  ...["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "pk_live_"].map((prefix) =>
    form(prefix, "[A-Za-z0-9]{16,}")
  ),
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((prefix) => form(prefix, "[A-Za-z0-9]{20,}")),
  form("github_pat_", "[A-Za-z0-9_]{22,}"),
  ...["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{20,}")
  ),
  ...["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"].map(
    (prefix) => form(prefix, "[A-Za-z0-9.-]{10,}")
  ),
  ...["AKIA", "ASIA"].map((prefix) => form(prefix, "[A-Z0-9]{16}(?![A-Za-z0-9])")),
  form("AIza", "[A-Za-z0-9_-]{35,}"),
  form("ya29.", "[A-Za-z0-9_-]{20,}"),
  form("GOCSPX-", "[A-Za-z0-9_-]{20,}"),
  form("npm_", "[A-Za-z0-9]{36,}"),
  form("pypi-", "[A-Za-z0-9_-]{20,}", hasDigitAndLetter),
  form("hf_", "[A-Za-z0-9]{30,}"),
  form("gsk_", "[A-Za-z0-9]{20,}"),
  form("xai-", "[A-Za-z0-9_-]{20,}", hasDigitAndLetter),
  form("r8_", "[A-Za-z0-9]{30,}"),
  form("fw_", "[A-Za-z0-9]{24,}", hasDigit),
  ...["nvapi-", "tgp_v1_", "jina_", "phx_", "figd_", "sb_secret_", "nfp_"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{28,}", hasDigit)
  ),
  ...["dckr_pat_", "dckr_oat_", "tvly-", "rnd_", "tskey-", "lsv2_"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{20,}", hasDigitAndLetter)
  ),
  form("csk-", "[A-Za-z0-9]{32,}", hasDigit),
  form("sbp_", "[a-f0-9]{32,}"),
  form("NRAK-", "[A-Z0-9]{20,}"),
  form("cio", "[A-Za-z0-9]{32}(?![A-Za-z0-9])", hasDigit),
  form("oy2", "[a-z0-9]{43}(?![A-Za-z0-9])", hasDigit),
  form("key-", "[a-f0-9]{32}(?![A-Za-z0-9])"),
  form("secret_", "[A-Za-z0-9]{40,}", hasDigit),
  form("re_", "[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}", hasDigit),
  ...["ATATT3", "ATCTT3", "ATBB"].map((prefix) => form(prefix, "[A-Za-z0-9_=-]{28,}", hasDigit)),
  form("sntrys_", "[A-Za-z0-9+/=_-]{40,}"),
  form("sk.eyJ", "[A-Za-z0-9_.-]{40,}"),
  form("sig=", "[A-Za-z0-9%+/=_-]{40,}", hasDigitAndLetter),
  form("whsec_", "[A-Za-z0-9+/=]{20,}"),
  ...["vcp_", "ntn_", "napi_", "pcsk_", "rpa_", "lin_oauth_", "PMAK-", "HRKU-"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{28,}", hasDigit)
  ),
  ...["dp.st.", "dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."].map((prefix) =>
    form(prefix, "[A-Za-z0-9_.-]{30,}", hasDigit)
  ),
  ...["fm1_", "fm1r_", "fm2_", "fo1_"].map((prefix) => form(prefix, "[A-Za-z0-9+/=_-]{40,}", hasDigit)),
  ...["xprv", "yprv", "zprv", "tprv"].map((prefix) => form(prefix, "[A-Za-z0-9]{90,}", hasDigit)),
  form("RWRTY0Iy", "[A-Za-z0-9+/=]{40,}"),
  form("APA91b", "[A-Za-z0-9_-]{60,}"),
  {
    id: "bot-of-discord",
    // The base64 of a number of 19 digits, which begins with 1.
    keywords: [..."aeimquycgk"].flatMap((second) => [..."wxyz012345"].map((third) => `mt${second}${third}`)),
    pattern: `MT[AEIMQUYcgk][wxyz0-5]${botOfDiscord}`
  },
  {
    id: "older-bot-of-discord",
    keywords: ["discord"],
    near: true,
    pattern: `(?<![A-Za-z0-9])(?<secret>[MNO][A-Za-z0-9]{3}${botOfDiscord})`
  },
  form("SG.", String.raw`[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),
  ...["hvs.", "hvb.", "hvr."].map((prefix) => form(prefix, "[A-Za-z0-9_-]{20,}")),
  ...["dop_v1_", "doo_v1_", "dor_v1_"].map((prefix) => form(prefix, "[a-f0-9]{32,}")),
  form("AGE-SECRET-KEY-1", "[A-Z0-9]{20,}"),
  form("eyJ", "[A-Za-z0-9_.-]{24,}", isWebToken),
  form("hooks.slack.com/", "(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{16,}"),
  form("discord.com/api/webhooks/", "[0-9]{6,}/[A-Za-z0-9_-]{20,}"),
  form("discordapp.com/api/webhooks/", "[0-9]{6,}/[A-Za-z0-9_-]{20,}"),
  form("webhook.office.com/webhookb2/", "[A-Za-z0-9@/-]{40,}"),
  form("open.feishu.cn/open-apis/bot/v2/hook/", "[A-Za-z0-9-]{16,}"),
  form("open.larksuite.com/open-apis/bot/v2/hook/", "[A-Za-z0-9-]{16,}")
]

/** Names of secret values. */
const names = String.raw`(?:pass(?:word|wd|phrase|code)|[_-]?pass(?![A-Za-z])|(?<=[_;])pwd|secret|token|api[_-]?key|pp[_-]?key|access[_-]?key|private[_-]?key|encryption[_-]?key|credentials?)`
const keywords = ["passw", "passphrase", "passcode", "pwd", "secret", "token", "apikey", "api_key", "api-key"]
  .concat(["access_key", "access-key", "accesskey", "private_key", "private-key", "privatekey"])
  // The word alone is too frequent.
  .concat(["_pass", "-pass", "pass=", "pass:", "pass =", 'pass"', "pass'", String.raw`pass\"`, "pass>"])
  // Of `APP_KEY`. Its first three characters are frequent.
  .concat(["ppkey", "pp_key", "pp-key"])
  .concat(["encryption_key", "encryption-key", "encryptionkey", "credential"])
/** Allowed continuation of a name, as in `SECRET_ACCESS_KEY`. Excludes words that make the value something other than the secret. */
const more = String.raw`(?!_?(?:file|path|url|uri|name|id|type|length|size|count|limit|ttl|expir\w{0,12}|endpoint))(?:_[A-Za-z0-9]{1,20}){0,3}`
const unquoted = String.raw`[^\s'"\x60$<>(){}\[\]*,;&|\\]`

const named: ReadonlyArray<SecretRule> = [
  {
    id: "named-in-environment",
    keywords,
    pattern: `${names}${more}=["']?(?<secret>${unquoted}{4,256})`,
    tail: `${names}${more}=["']?(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: isNoWord
  },
  {
    id: "named-in-quotes",
    keywords,
    pattern: String.raw`${names}${more}\\{0,3}["']?\s{0,3}(?:=>|:=|[:=])\s{0,3}\\{0,3}["'\x60](?<secret>[^"'\x60\\\n]{6,256})\\{0,3}["'\x60]`,
    tail: String.raw`${names}${more}\\{0,3}["']?\s{0,3}(?:=>|:=|[:=])\s{0,3}\\{0,3}["'\x60](?<secret>[^"'\x60\\\n]{0,256})$`,
    ignoreCase: true,
    isSecret: isNoDescription
  },
  {
    id: "named-in-settings",
    keywords,
    pattern: String.raw`${names}${more}[ \t]{0,8}[:=][ \t]{1,8}(?<secret>${unquoted}{6,256})(?=\s|$)`,
    tail: String.raw`${names}${more}[ \t]{0,8}[:=][ \t]{1,8}(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: hasDigitAndLetter
  },
  {
    id: "named-in-element",
    keywords,
    pattern: `${names}${more}>(?<secret>[^\\s<>(){}$]{4,256})</`,
    tail: `${names}${more}>(?<secret>[^\\s<>(){}$]{0,256})$`,
    ignoreCase: true,
    isSecret: isNoDescription
  },
  {
    id: "named-in-words",
    keywords: ["env ", "arg ", "set -", "setx "],
    pattern: String.raw`(?:env|arg|setx|set -[a-z]{1,4})[ \t]{1,4}(?:[a-z0-9]{1,20}_){0,3}${names}${more}[ \t]{1,4}["']?(?<secret>${unquoted}{6,256})`,
    tail: String.raw`(?:env|arg|setx|set -[a-z]{1,4})[ \t]{1,4}(?:[a-z0-9]{1,20}_){0,3}${names}${more}[ \t]{1,4}["']?(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: hasDigitAndLetter
  },
  {
    id: "auth-in-environment",
    keywords: ["_auth="],
    pattern: `_auth=["']?(?<secret>${unquoted}{6,256})`,
    tail: `_auth=["']?(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: hasDigitAndLetter
  },
  {
    id: "named-in-sql",
    keywords: ["password '", "ified "],
    pattern: String.raw`(?:password|ified[ \t](?:with[ \t]\S{1,40}[ \t])?(?:by|as))[ \t]{1,4}'(?<secret>[^'\n]{3,256})'`,
    tail: String.raw`(?:password|ified[ \t](?:with[ \t]\S{1,40}[ \t])?(?:by|as))[ \t]{1,4}'(?<secret>[^'\n]{0,256})$`,
    ignoreCase: true,
    isSecret: isNoDescription
  },
  {
    id: "named-in-directives",
    // Ends of `bindpw`, `rootpw`, `requirepass` and `masterauth`, whose beginnings are frequent.
    keywords: ["dpw ", "tpw ", "epass ", "rauth "],
    pattern: String.raw`(?:[dt]pw|epass|rauth)[ \t]{1,8}["']?(?<secret>[^\s'"]{4,256})`,
    tail: String.raw`(?:[dt]pw|epass|rauth)[ \t]{1,8}["']?(?<secret>[^\s'"]{0,256})$`,
    ignoreCase: true,
    isSecret: hasDigit
  },
  {
    id: "line-of-pgpass",
    keywords: [":543", ":6432:", ":6543:", ":*:"],
    pattern: String.raw`:(?:543[0-9]|6432|6543|\*)(?::(?:[^\s:\\]|\\.){1,64}){2}:(?<secret>(?:[^\s:\\"'\x60]|\\.){3,256})(?=["'\x60]?(?:\s|$))`,
    tail: String.raw`:(?:543[0-9]|6432|6543|\*)(?::(?:[^\s:\\]|\\.){1,64}){2}:(?<secret>(?:[^\s:\\"'\x60]|\\.?){0,256})$`
  },
  {
    id: "private-members-of-jwk",
    keywords: ['"d"', '"p"', '"q"', '"k"', '"dp"', '"dq"', '"qi"', String.raw`"d\"`, String.raw`"p\"`]
      .concat([String.raw`"q\"`, String.raw`"k\"`, String.raw`"dp\"`, String.raw`"dq\"`, String.raw`"qi\"`])
      .concat(["'d'", "'p'", "'q'", "'k'", "'dp'", "'dq'", "'qi'"]),
    pattern: String.raw`["'](?:d[pq]?|p|qi?|k)\\{0,3}["']\s{0,3}:\s{0,3}\\{0,3}["'](?<secret>[A-Za-z0-9_-]{22,1400})`,
    tail: String.raw`["'](?:d[pq]?|p|qi?|k)\\{0,3}["']\s{0,3}:\s{0,3}\\{0,3}["'](?<secret>[A-Za-z0-9_-]{0,1400})$`,
    reach: 1_420,
    isSecret: isKeyText
  },
  {
    id: "key-of-perplexity",
    keywords: ["plx-"],
    pattern: "plx-(?<secret>[A-Za-z0-9]{28,200})",
    tail: "plx-(?<secret>[A-Za-z0-9]{0,200})$",
    isSecret: hasDigit
  },
  {
    id: "bot-of-telegram",
    keywords: [":aa"],
    pattern: ":(?<secret>AA[A-Za-z0-9_-]{31,36})(?![A-Za-z0-9_-])",
    tail: ":(?<secret>AA[A-Za-z0-9_-]{0,36})$",
    isSecret: hasDigit
  },
  {
    id: "token-of-braintree",
    keywords: ["access_token$"],
    pattern: String.raw`access_token\$(?:production|sandbox)\$[a-z0-9]{12,20}\$(?<secret>[a-f0-9]{32})`,
    tail: String.raw`access_token\$(?:production|sandbox)\$[a-z0-9]{0,20}\$?(?<secret>[a-f0-9]{0,32})$`
  },
  {
    id: "user-of-postfix",
    keywords: ["]:25 ", "]:465 ", "]:587 "],
    pattern: String.raw`\]:(?:25|465|587)[ \t]{1,8}[^\s:]{1,100}:(?<secret>\S{3,200})`,
    tail: String.raw`\]:(?:25|465|587)[ \t]{1,8}[^\s:]{1,100}:(?<secret>\S{0,200})$`
  },
  {
    id: "private-key-of-ssh2",
    keywords: [" ssh2 "],
    pattern: String.raw` SSH2 [A-Z ]{0,30}PRIVATE KEY ----(?<secret>(?:[^-]|-(?!---)){16,16000})`,
    tail: String.raw` SSH2 [A-Z ]{0,30}PRIVATE KEY ----(?<secret>(?:[^-]|-(?!---)){0,16000})$`,
    reach: 16_000
  },
  {
    id: "key-data-of-kubernetes",
    keywords: ["client-key-data"],
    pattern: String.raw`client-key-data["']?:[ \t]{0,4}["']?(?<secret>[A-Za-z0-9+/=]{20,})`,
    tail: String.raw`client-key-data["']?:[ \t]{0,4}["']?(?<secret>[A-Za-z0-9+/=]*)$`
  },
  {
    id: "private-lines-of-putty",
    keywords: ["private-lines:"],
    pattern: String.raw`Private-Lines:[ \t]{0,4}[0-9]{1,4}(?<secret>[A-Za-z0-9+/=\r\n]{16,})`,
    tail: String.raw`Private-Lines:[ \t]{0,4}[0-9]{1,4}(?<secret>[A-Za-z0-9+/=\r\n]*)$`
  },
  {
    id: "token-in-address",
    keywords: ["://"],
    pattern: String.raw`:\/\/(?<secret>[A-Za-z0-9_-]{20,256})@`,
    tail: String.raw`:\/\/(?<secret>[A-Za-z0-9_-]{0,256})$`,
    isSecret: hasDigitAndLetter
  },
  {
    id: "credentials-in-address",
    keywords: ["://"],
    pattern: String.raw`:\/\/[^\s\/:@'"\x60]{0,64}:(?<secret>[^\s\/@'"\x60]{3,256})@`,
    tail: String.raw`:\/\/[^\s\/:@'"\x60]{0,64}:(?<secret>[^\s\/@'"\x60]{0,256})$`
  },
  {
    id: "scheme-bearer",
    keywords: ["bearer"],
    pattern: String.raw`bearer[ \t]{1,4}(?<secret>[A-Za-z0-9._~+/-]{16,}={0,2})`,
    tail: String.raw`bearer[ \t]{0,4}(?<secret>[A-Za-z0-9._~+/=-]*)$`,
    ignoreCase: true,
    isSecret: hasDigit
  },
  {
    id: "scheme-basic",
    keywords: ["basic"],
    pattern: String.raw`basic[ \t]{1,4}(?<secret>[A-Za-z0-9+/]{12,}={0,2})`,
    tail: String.raw`basic[ \t]{1,4}(?<secret>[A-Za-z0-9+/=]*)$`,
    ignoreCase: true,
    isSecret: (secret) => secret.endsWith("=") || (hasDigit(secret) && /[a-z][A-Z]/.test(secret))
  },
  {
    id: "header-authorization",
    keywords: ["authorization", "x-api-key", "x-auth-token"],
    pattern: String.raw`(?:authorization|x-api-key|x-auth-token)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<secret>[\w=~@.+/-]{8,512})`,
    tail: String.raw`(?:authorization|x-api-key|x-auth-token)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<secret>[\w=~@.+/-]{0,512})$`,
    ignoreCase: true,
    isSecret: hasDigit
  },
  {
    id: "header-cookie",
    keywords: ["cookie:"],
    pattern: String.raw`cookie:[ \t]{1,4}(?<secret>[\w.-]{1,64}=[^\s"']{8,512})`,
    tail: String.raw`cookie:[ \t]{1,4}(?<secret>[^\s"']{0,577})$`,
    ignoreCase: true
  },
  {
    id: "login-of-netrc",
    keywords: ["login"],
    pattern: String.raw`login[ \t]{1,4}\S{1,100}\s{1,8}password[ \t]{1,4}(?<secret>\S{3,200})`,
    tail: String.raw`login[ \t]{1,4}\S{1,100}\s{1,8}password[ \t]{1,4}(?<secret>\S{0,200})$`
  },
  {
    id: "secret-beside-access-key",
    keywords: ["akia", "asia"],
    pattern: String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9\/+]{1,40}(?:[A-Za-z_]{1,30}[^A-Za-z0-9\/+]{1,6})?(?<secret>[A-Za-z0-9\/+]{40})(?![A-Za-z0-9\/+=])`,
    tail: String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9\/+]{1,40}(?:[A-Za-z_]{1,30}[^A-Za-z0-9\/+]{1,6})?(?<secret>[A-Za-z0-9\/+]{0,40})$`
  }
]

export const ownRules: ReadonlyArray<SecretRule> = [...forms, ...named, ...commandRules]
