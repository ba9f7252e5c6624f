/** Corral's mark. */
export const Mark = () => (
  <svg className="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="currentColor" />
    <path d="M7 9v15M16 7v17M25 9v15M5 13h22M5 19h22" className="mark-bars" />
  </svg>
)
