/** Page of the identity provider for development: one field with a proposed name, no script. */
import { hubPage, pageStyle, sourceHash } from "../page/HubPage.ts"

/** The form returns to the Hub by redirects, which `form-action` would refuse. */
export const signInPolicy = `default-src 'none'; style-src ${sourceHash(pageStyle)}; frame-ancestors 'none'`

const words = {
  en: {
    title: "Sign in",
    name: "Your name",
    note: "For development only: any name is accepted. A Hub for several people uses an identity provider."
  },
  zh: {
    title: "登录",
    name: "您的姓名",
    note: "仅供开发使用：任何姓名均可登录。多人使用的 Hub 应配置身份提供方。"
  }
}

const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** `languages` is the header `accept-language`. */
export const signInPage = (proposed: string, languages = ""): string => {
  const lang = languages.trim().toLowerCase().startsWith("zh") ? "zh" : "en"
  const { name, note, title } = words[lang]
  return hubPage({
    title,
    lang: lang === "zh" ? "zh-CN" : "en",
    body: `<h1>${title}</h1>
<form method="post">
  <label>${name}<input name="name" maxlength="100" autocomplete="username" value="${escaped(proposed)}" required autofocus></label>
  <button class="primary">${title}</button>
</form>
<p class="quiet">${note}</p>`
  })
}
