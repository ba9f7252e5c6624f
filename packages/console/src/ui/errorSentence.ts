/** The sentence of an error in the user's language. A message that is not ours stays as it is, after the sentence of its code. */
import { errorTable, isErrorCode } from "@corral/domain/errors/ErrorCodes"
import { type Language, useLanguage } from "../text/Language.tsx"
import { chineseByCode, chineseByMessage, type ErrorSentenceCode } from "./chineseErrors.ts"

export interface ShownError {
  readonly code: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

const MAX_NAME = 80

/** Why the cost of a run can't be limited, which names its model. */
const unknownCost = ({ details = {} }: ShownError): string | undefined => {
  const { model, reason } = details
  if (reason !== "cost_unknown") return undefined
  const name = typeof model === "string" ? model.slice(0, MAX_NAME) : "智能体所用模型"
  return `${name} 的价格未知，无法计算此次运行的费用预算。请在 CORRAL_EDGE_PRICES_FILE 中添加价格，或改为限制 token。`
}

const hasSentence = (code: string): code is ErrorSentenceCode => Object.hasOwn(chineseByCode, code)

/** The client has one sentence for every service. Pages have one Hub, and the banner above them uses these words. */
const UNREACHABLE = "Can't reach the Hub."

export const errorSentence = (error: ShownError, language: Language): string => {
  const { code, message } = error
  if (language === "en") return code === "unreachable" ? UNREACHABLE : message
  const translated = chineseByMessage.get(message) ?? unknownCost(error)
  if (translated !== undefined) return translated
  if (!hasSentence(code)) return message
  const isDefault = !isErrorCode(code) || message === "" || message === errorTable[code].message
  return isDefault ? chineseByCode[code] : `${chineseByCode[code]}（${message}）`
}

export const useErrorSentence = (): ((error: ShownError) => string) => {
  const { language } = useLanguage()
  return (error) => errorSentence(error, language)
}
