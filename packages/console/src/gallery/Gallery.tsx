/**
 * Gallery of the shared components, at `/gallery` of development builds: no Hub, no sign-in.
 *
 * Has its own router in memory, so that specimens can contain links.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { LanguageProvider, useLanguage, useMessages } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog } from "../ui/Dialogs.tsx"
import { CopyButton, CopyLine, ShortId } from "../ui/Copy.tsx"
import { Field } from "../ui/Field.tsx"
import { Icon, Mark } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { uiMessages } from "../ui/messages.ts"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { RowMain, RowMenu, RowMenuItem } from "../ui/Row.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { storeTheme, useStoredTheme } from "../ui/Theme.ts"
import { Time } from "../ui/Time.tsx"
import { galleryMessages, type GalleryTexts } from "./messages.ts"
import "./gallery.css"

interface Specimen {
  /** The component. */
  readonly name: string
  readonly show: (texts: GalleryTexts) => ReactNode
}

const id = "dev_01KAAAAAAAAAAAAAAAAAAAAAAA"
const states = Object.keys(uiMessages.en.states) as ReadonlyArray<keyof typeof uiMessages.en.states>
const done = (): Promise<void> => Promise.resolve()

/** The specimens of the gallery. A new shared component adds one entry to this list. */
export const specimens: ReadonlyArray<Specimen> = [
  { name: "Mark", show: () => <Mark /> },
  { name: "StateBadge", show: () => states.map((state) => <StateBadge key={state} state={state} />) },
  {
    name: "button",
    show: (texts) => (
      <>
        <button type="button" className="button primary">
          <Icon name="plus" />
          {texts.primary}
        </button>
        <button type="button" className="button">
          {texts.plain}
        </button>
        <button type="button" className="button danger">
          {texts.danger}
        </button>
        <button type="button" className="button small">
          {texts.plain}
        </button>
        <button type="button" className="button" aria-pressed="true">
          {texts.pressed}
        </button>
        <button type="button" className="button" disabled>
          {texts.disabled}
        </button>
      </>
    )
  },
  {
    name: "Field",
    show: (texts) => (
      <form className="form">
        <Field label={texts.name} hint={texts.nameHint}>
          <input autoComplete="off" />
        </Field>
        <Field label={texts.role}>
          <select>
            {texts.roles.map((role) => (
              <option key={role}>{role}</option>
            ))}
          </select>
        </Field>
        <Field label={texts.note}>
          <textarea />
        </Field>
        <label className="choice">
          <input type="checkbox" defaultChecked />
          {texts.choice}
        </label>
      </form>
    )
  },
  {
    name: "RowMain, RowMenu",
    show: (texts) => (
      <ul className="rows">
        {(["online", "offline", "revoked"] as const).map((state) => (
          <li key={state} className="row">
            <RowMain name={texts.device}>{texts.deviceFacts}</RowMain>
            <div className="row-side">
              <StateBadge state={state} />
              <Time at="2026-01-01T09:00:00.000Z" />
              <RowMenu of={`${texts.device} ${state}`} id={id}>
                <RowMenuItem icon="edit" onSelect={() => undefined}>
                  {texts.rename}
                </RowMenuItem>
              </RowMenu>
            </div>
          </li>
        ))}
      </ul>
    )
  },
  {
    name: "FormDialog, ConfirmDialog",
    show: (texts) => (
      <>
        <FormDialog trigger={texts.rename} title={texts.rename} submit={texts.save} onSubmit={done}>
          <Field label={texts.name}>
            <input autoComplete="off" />
          </Field>
        </FormDialog>
        <ConfirmDialog
          trigger={texts.remove}
          triggerClass="button danger"
          title={texts.removeTitle}
          confirm={texts.remove}
          onConfirm={done}
        >
          {texts.removeText}
        </ConfirmDialog>
      </>
    )
  },
  {
    name: "empty",
    show: (texts) => (
      <div className="empty">
        <p>{texts.empty}</p>
        <p>{texts.emptyNext}</p>
      </div>
    )
  },
  { name: "Loading", show: () => <Loading /> },
  {
    name: "RefusalNote",
    show: (texts) => (
      <RefusalNote
        error={new CorralError("target_offline", { message: texts.refusal, requestId: "req_01KAAAA" })}
        again={() => undefined}
      />
    )
  },
  {
    name: "notice",
    show: (texts) => (
      <div className="notice">
        <p>
          <strong>{texts.notice}</strong>
        </p>
      </div>
    )
  },
  {
    name: "CopyLine, CopyButton, ShortId",
    show: (texts) => (
      <>
        <CopyLine text="corral device join --hub https://hub.example --token-file -" what={texts.command} />
        <CopyButton text={id} label={texts.copyId} />
        <ShortId id={id} />
      </>
    )
  },
  {
    name: "details",
    show: (texts) => (
      <details open>
        <summary>{texts.facts}</summary>
        <dl className="facts">
          <dt>{texts.fact}</dt>
          <dd>
            <code>permission_denied</code>
          </dd>
        </dl>
      </details>
    )
  }
]

const Specimens = () => {
  const messages = useMessages(galleryMessages)
  const { language, selectLanguage } = useLanguage()
  const theme = useStoredTheme()
  return (
    <main className="gallery">
      <header className="page-head">
        <h1>{messages.title}</h1>
        <div className="page-actions">
          <button
            type="button"
            className="button"
            aria-pressed={theme === "dark"}
            onClick={() => storeTheme(theme === "dark" ? "system" : "dark")}
          >
            {messages.theme}
          </button>
          <button
            type="button"
            className="button"
            onClick={() => selectLanguage(language === "en" ? "zh" : "en")}
          >
            {messages.language}
          </button>
        </div>
      </header>
      <p className="page-hint">{messages.hint}</p>
      {specimens.map(({ name, show }) => (
        <section key={name} className="gallery-specimen" aria-label={name}>
          <h2>
            <code>{name}</code>
          </h2>
          <div className="gallery-stage">{show(messages)}</div>
        </section>
      ))}
    </main>
  )
}

const router = createRouter({
  routeTree: createRootRoute({ component: Specimens }),
  history: createMemoryHistory()
})
const client = new QueryClient()

export const Gallery = () => (
  <LanguageProvider>
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>
  </LanguageProvider>
)
