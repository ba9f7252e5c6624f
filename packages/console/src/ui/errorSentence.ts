/** The sentence of an error in the user's language. A message that is not ours stays as it is, after the sentence of its code. */
import { errorTable, isErrorCode } from "@corral/domain/errors/ErrorCodes"
import { type Language, useLanguage } from "../text/Language.tsx"
import { chineseByCode, chineseByMessage, type ErrorSentenceCode } from "./chineseErrors.ts"

export interface ShownError {
  readonly code: string
  readonly message: string
}

const hasSentence = (code: string): code is ErrorSentenceCode => Object.hasOwn(chineseByCode, code)

/** The client has one sentence for every service. Pages have one Hub, and the banner above them uses these words. */
const UNREACHABLE = "Can't reach the Hub."

export const errorSentence = ({ code, message }: ShownError, language: Language): string => {
  if (language === "en") return code === "unreachable" ? UNREACHABLE : message
  const translated = chineseByMessage.get(message)
  if (translated !== undefined) return translated
  if (!hasSentence(code)) return message
  const isDefault = !isErrorCode(code) || message === "" || message === errorTable[code].message
  return isDefault ? chineseByCode[code] : `${chineseByCode[code]}（${message}）`
}

export const useErrorSentence = (): ((error: ShownError) => string) => {
  const { language } = useLanguage()
  return (error) => errorSentence(error, language)
}
