# SPDX-License-Identifier: Apache-2.0
"""The calls of the API in a real browser: described, and tried with the session."""

import json

from manila_lite.api import versions
from manila_lite.api.http import openapi
from manila_lite.tests.functional.console import base

#: Turns the text after it.
_TURN = '\u202e'
_ANSWER = "//*[@role='region'][@aria-label='Answer']"


class ApiPageTest(base.ConsoleTest):
    """The page of the API."""

    def answer(self, status):
        """Wait for the answer of a call that was tried; return it."""
        self.see(f"//*[@role='status'][starts-with(normalize-space(), 'Status {status},')]")
        return self.all(_ANSWER)[0].get_attribute('textContent') if self.all(_ANSWER) else None

    def call(self, *words):
        """Be on the page of a call."""
        where = ('api', versions.show(versions.MAX), *(word.replace('/', '%2F') for word in words))
        self.open('/'.join(where), ' '.join(words))

    def test_every_call_is_there_and_found(self):
        self.driver.get(self.url + 'api')
        self.see_title('API')
        self.see("//*[@role='status'][contains(., ' calls')]")
        shown = {
            ' '.join(words.split())
            for words in self.driver.execute_script(
                'return [...document.querySelectorAll("ul.calls a")].map((link) => link.textContent)'
            )
        }
        paths = openapi.document(versions.MAX)['paths']
        self.assertEqual(
            {(method.upper(), path) for path, methods in paths.items() for method in methods},
            {tuple(name.split(' ')[:2]) for name in shown},
        )
        self.assertIn('POST /shares/{share_id}/action extend', shown)
        self.write('Search calls', 'action extend')
        self.see("//*[@role='status'][normalize-space()='1 call']")
        self.click("//ul[@class='calls']//a")
        self.see_title('POST /shares/{share_id}/action extend')
        self.see("//ul[@class='schema']//code[.='new_size']")
        self.see("//code[.='share:extend']")
        self.assert_accessible('the page of a call')
        self.press('All calls')
        self.assertEqual('action extend', self.field('Search calls').get_attribute('value'))
        self.choose('Microversion', '2.6')
        self.write('Search calls', 'os-extend')
        self.click("//a[contains(., 'os-extend')]")
        self.see_title('POST /shares/{share_id}/action os-extend')
        self.write('share_id', 'kept')
        self.choose('Microversion', '2.5')
        self.see("//a[.='All calls'][contains(@href, '2.5')]")
        self.assertEqual('kept', self.field('share_id').get_attribute('value'))
        self.assertEqual(
            'Microversion', self.driver.execute_script('return document.activeElement.labels[0].textContent')
        )
        self.choose('Microversion', '2.7')
        self.see("//*[normalize-space()='This microversion has no such call.']")
        self.assert_quiet()

    def test_calls_are_sent_and_their_answers_shown_as_text(self):
        self.call('POST', '/shares')
        name = f'<b>{_TURN}x</b>'
        self.write('Body', json.dumps({'share': {'size': 1, 'share_proto': 'NFS', 'name': name}}))
        self.write('Idempotency-Key', 'once')
        self.press('Send POST')
        self.answer(200)
        self.press('Send POST')  # with the same key
        self.until(lambda: self.text.count('Status 200'), lambda: self.text)
        [share] = self.lite.ok('GET', '/shares')['shares']
        self.call('GET', '/shares/{share_id}')
        self.write('share_id', share['id'])
        self.press('Send GET')
        text = self.answer(200)
        self.assertNotIn(_TURN, text)
        self.assertEqual(name, json.loads(text)['share']['name'])
        self.assertEqual([], self.all('//main//b'))
        self.assert_accessible('an answer')
        self.picture('api')
        self.call('DELETE', '/shares/{share_id}')
        self.write('share_id', share['id'])
        self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.press('Send DELETE')
        self.assertIsNone(self.answer(202))
        self.assert_quiet()

    def test_version_and_query_are_those_of_the_form(self):
        self.open('api/2.6/GET/%2Fos-services', 'GET /os-services')
        self.press('Send GET')
        self.assertNotIn('disabled_reason', self.answer(200))
        self.see("//dt[.='x-openstack-manila-api-version']/../dd[.='2.6']", hidden=True)
        self.call('GET', '/services')
        self.write('binary', 'manila-scheduler')
        self.press('Send GET')
        self.assertEqual(
            ['manila-scheduler'], [row['binary'] for row in json.loads(self.answer(200))['services']]
        )

    def test_words_of_dots_lead_to_no_other_call(self):
        self.call('GET', '/shares/{share_id}')
        # A slash is one of the path for the server, which takes no dots away.
        for word, said in (
            ('..', 'Share .. '),
            ('.', 'Share . '),
            ('../types', '/v2/shares/../types is not a path'),
            ('a?b#c', 'Share a?b#c '),
        ):
            self.write('share_id', word)
            self.press('Send GET')
            self.until(
                lambda said=said: said in json.loads(self.answer(404))['itemNotFound']['message'],
                lambda: self.text,
            )

    def test_refusals_are_answers_and_lose_nothing(self):
        self.act_as('ann', 'blue', 'member,reader')
        self.call('POST', '/types')
        self.write('Body', '{"share_type": 1}')
        self.press('Send POST')
        self.answer(403)
        self.call('POST', '/shares')
        self.write('Body', '{"share": ')
        self.press('Send POST')
        self.assertIn('body', self.answer(400))
        self.assertEqual('{"share": ', self.field('Body').get_attribute('value'))
